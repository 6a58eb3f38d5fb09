//! Objects of an object store, named by URLs such as `s3://bucket/dataset/ops`.
//!
//! An object appears under its name only when its upload is complete. Uploads of more than
//! [`PART_BYTES`] are sent in parts.

use object_store::{
    MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig,
    aws::AmazonS3Builder, azure::MicrosoftAzureBuilder, gcp::GoogleCloudStorageBuilder,
    path::Path as ObjectPath,
};
use std::{
    fmt,
    io::{self, Write},
    ops::Range,
    sync::Arc,
    time::Duration,
};
use tokio::runtime::{Builder, Runtime};

/// Length of one part of an upload. Stores accept at most 10,000 parts, of at least 5 MiB each.
const PART_BYTES: usize = 8 << 20;
/// Time for which failed requests are repeated before an error is reported.
const RETRY_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_RETRIES: usize = 5;

/// Object of an object store, or common prefix of several objects' names.
///
/// Credentials, region and endpoint come from the environment, such as `AWS_ACCESS_KEY_ID`.
#[derive(Clone)]
pub struct ObjectPlace {
    client: Arc<Client>,
    /// Name of the object in its bucket.
    path: ObjectPath,
}

/// Client of one bucket, with the threads that run its requests.
struct Client {
    store: Box<dyn ObjectStore>,
    /// Scheme and bucket, as in `s3://bucket`.
    bucket_url: String,
    runtime: Runtime,
}

impl Client {
    /// Runs a request and returns its result.
    fn wait_for<T>(&self, request: impl Future<Output = object_store::Result<T>>) -> io::Result<T> {
        self.runtime.block_on(request).map_err(io_error)
    }
}

impl ObjectPlace {
    /// Parses the URL of an object or a prefix. No request is sent yet.
    ///
    /// # Errors
    /// If the URL's scheme does not belong to a store of S3, Google or Azure, the URL contains no
    /// bucket, or a setting in the environment is wrong.
    pub fn open(url: &str) -> io::Result<Self> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, EXPECTED_URL);
        let (scheme, rest) = url.split_once("://").ok_or_else(invalid)?;
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(invalid());
        }
        let path = ObjectPath::parse(path.trim_matches('/')).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidInput, one_line(&error.to_string()))
        })?;
        let bucket_url = format!("{scheme}://{bucket}");
        let retry = || RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: RETRY_TIMEOUT,
            ..RetryConfig::default()
        };
        let store: Result<Box<dyn ObjectStore>, _> = match scheme {
            "s3" | "s3a" => {
                let builder = AmazonS3Builder::from_env().with_url(&bucket_url);
                builder.with_retry(retry()).build().map(|store| Box::new(store) as _)
            }
            "gs" => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(&bucket_url);
                builder.with_retry(retry()).build().map(|store| Box::new(store) as _)
            }
            "az" | "azure" | "abfs" | "abfss" => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(&bucket_url);
                builder.with_retry(retry()).build().map(|store| Box::new(store) as _)
            }
            _ => return Err(invalid()),
        };
        Self::new(store.map_err(io_error)?, bucket_url, path)
    }

    /// Returns a prefix in a new in-memory store.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        let store = Box::new(object_store::memory::InMemory::new());
        Self::new(store, "memory://test".to_owned(), ObjectPath::from("data set")).unwrap()
    }

    fn new(store: Box<dyn ObjectStore>, bucket_url: String, path: ObjectPath) -> io::Result<Self> {
        // A thread that waits for a response also runs the request. The thread of the runtime only
        // maintains connections.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { client: Arc::new(Client { store, bucket_url, runtime }), path })
    }

    /// Returns the object or prefix that has this name below this prefix.
    ///
    /// # Errors
    /// If the name has parts that are not allowed in object names, such as `..`.
    pub(crate) fn join(&self, name: &str) -> io::Result<Self> {
        let parent = self.path.as_ref();
        let joined = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
        let path = ObjectPath::parse(joined).map_err(|error| io_error(error.into()))?;
        Ok(Self { client: Arc::clone(&self.client), path })
    }

    /// Lists the objects and prefixes directly below this prefix, each as a pair of name and
    /// length. The name is relative to this prefix. The length is `None` for a prefix.
    pub(crate) fn list(&self) -> io::Result<Vec<(String, Option<u64>)>> {
        let listed = self.client.store.list_with_delimiter(Some(&self.path));
        let listed = self.client.wait_for(listed)?;
        let name = |path: &ObjectPath| path.filename().unwrap_or_default().to_owned();
        let prefixes = listed.common_prefixes.iter();
        let prefixes = prefixes.map(|prefix| (name(prefix), None));
        let objects =
            listed.objects.iter().map(|object| (name(&object.location), Some(object.size)));
        Ok(prefixes.chain(objects).collect())
    }

    /// Returns the object's length and its last modification in milliseconds since 1970.
    pub(crate) fn head(&self) -> io::Result<(u64, i64)> {
        let found = self.client.wait_for(self.client.store.head(&self.path))?;
        Ok((found.size, found.last_modified.timestamp_millis()))
    }

    /// Reads a range of the object's bytes.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let bytes = self.client.wait_for(self.client.store.get_range(&self.path, range))?;
        Ok(bytes.into())
    }

    /// Removes the object.
    pub(crate) fn remove(&self) -> io::Result<()> {
        self.client.wait_for(self.client.store.delete(&self.path))
    }

    /// Writes a small object unless an object with this name exists. Returns true if the object was
    /// written.
    pub(crate) fn create_new(&self, bytes: &[u8]) -> io::Result<bool> {
        let payload = PutPayload::from(bytes.to_vec());
        let put = self.client.store.put_opts(&self.path, payload, PutMode::Create.into());
        match self.client.wait_for(put) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for ObjectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.client.bucket_url, self.path)
    }
}

impl fmt::Debug for ObjectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectPlace({self})")
    }
}

impl PartialEq for ObjectPlace {
    fn eq(&self, other: &Self) -> bool {
        self.client.bucket_url == other.client.bucket_url && self.path == other.path
    }
}

impl Eq for ObjectPlace {}

/// Upload of an object in progress. The object appears when it is published; dropping the upload
/// removes the parts already sent.
#[derive(Debug)]
pub(crate) struct ObjectUpload {
    place: ObjectPlace,
    /// Bytes that have not been sent yet.
    unsent: Vec<u8>,
    parts: Option<Box<dyn MultipartUpload>>,
}

impl ObjectUpload {
    /// Starts an upload. No request is sent yet.
    pub(crate) const fn new(place: ObjectPlace) -> Self {
        Self { place, unsent: Vec::new(), parts: None }
    }

    fn send_part(&mut self) -> io::Result<()> {
        let client = &*self.place.client;
        let parts = match &mut self.parts {
            Some(parts) => parts,
            None => {
                let begun = client.wait_for(client.store.put_multipart(&self.place.path))?;
                self.parts.insert(begun)
            }
        };
        client.wait_for(parts.put_part(PutPayload::from(std::mem::take(&mut self.unsent))))
    }

    /// Sends everything except the last request, which makes the object appear.
    pub(crate) fn finish(mut self) -> io::Result<Self> {
        if self.parts.is_some() && !self.unsent.is_empty() {
            self.send_part()?;
        }
        Ok(self)
    }

    /// Makes the object appear under its name.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        let client = &*self.place.client;
        match &mut self.parts {
            Some(parts) => client.wait_for(parts.complete())?,
            None => {
                let payload = PutPayload::from(std::mem::take(&mut self.unsent));
                client.wait_for(client.store.put(&self.place.path, payload))?
            }
        };
        self.parts = None;
        Ok(())
    }
}

impl Write for ObjectUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_BYTES.saturating_sub(self.unsent.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.unsent.extend_from_slice(taken);
        if self.unsent.len() >= PART_BYTES {
            self.send_part()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ObjectUpload {
    fn drop(&mut self) {
        if let Some(parts) = &mut self.parts {
            // If removing the parts fails here, the bucket's lifecycle rules remove them later.
            let _ = self.place.client.runtime.block_on(parts.abort());
        }
    }
}

const EXPECTED_URL: &str = "expected a URL such as s3://bucket/name, gs://bucket/name or \
                            az://container/name";

fn io_error(error: object_store::Error) -> io::Error {
    use object_store::Error;
    let kind = match &error {
        Error::NotFound { .. } => io::ErrorKind::NotFound,
        Error::AlreadyExists { .. } => io::ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            io::ErrorKind::PermissionDenied
        }
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, one_line(&error.to_string()))
}

/// Returns a message as a single line of limited length. Some messages contain the server's whole
/// response.
fn one_line(message: &str) -> String {
    const LONGEST: usize = 400;
    let message = without_markup(message);
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Returns a message in which the server's XML is replaced by the sentence that the XML contains.
fn without_markup(message: &str) -> String {
    let sentence = |message: &str| {
        let (text, markup) = message.split_once("<?xml")?;
        let (_, rest) = markup.split_once("<Message>")?;
        let (sentence, _) = rest.split_once("</Message>")?;
        Some(format!("{text}{sentence}"))
    };
    sentence(message).unwrap_or_else(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CancelFlag, Destination, WriteError, write_atomically};

    fn content(place: &ObjectPlace) -> Vec<u8> {
        let (byte_count, _) = place.head().unwrap();
        place.read(0..byte_count).unwrap()
    }

    #[test]
    fn objects_of_one_part_and_of_several_hold_what_was_written() {
        let folder = ObjectPlace::in_memory();
        for byte_count in [0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 77] {
            let bytes: Vec<u8> = (0..=250_u8).cycle().take(byte_count).collect();
            let place = folder.join(&format!("part {byte_count}%20")).unwrap();
            write_atomically(&Destination::Object(place.clone()), &CancelFlag::default(), |out| {
                // The object is not visible before it is published.
                bytes.chunks(99_991).try_for_each(|some| out.write_all(some))?;
                assert_eq!(place.head().unwrap_err().kind(), io::ErrorKind::NotFound);
                Ok(())
            })
            .unwrap();
            assert!(content(&place) == bytes, "{byte_count}");
        }
        let mut listed: Vec<_> = folder.list().unwrap().into_iter().map(|(name, _)| name).collect();
        listed.sort();
        assert_eq!(listed.len(), 6);
        assert_eq!(listed[0], "part 0%20");
    }

    #[test]
    fn an_upload_that_is_called_off_leaves_the_old_object() {
        let place = ObjectPlace::in_memory().join("trace").unwrap();
        let to = Destination::Object(place.clone());
        write_atomically(&to, &CancelFlag::default(), |out| out.write_all(b"old")).unwrap();
        let cancel = CancelFlag::default();
        let result = write_atomically(&to, &cancel, |out| {
            out.write_all(&vec![1; 2 * PART_BYTES])?;
            cancel.cancel();
            Ok(())
        });
        assert!(matches!(result, Err(WriteError::Cancelled { .. })), "{result:?}");
        assert_eq!(content(&place), b"old");
    }

    #[test]
    fn an_object_is_created_once() {
        let place = ObjectPlace::in_memory().join("0.json").unwrap();
        assert!(place.create_new(b"one").unwrap());
        assert!(!place.create_new(b"two").unwrap());
        assert_eq!(content(&place), b"one");
        place.remove().unwrap();
        assert!(place.create_new(b"two").unwrap());
    }

    #[test]
    fn urls_that_name_no_bucket_are_refused() {
        for url in ["ftp://host/a", "s3://", "s3:///a", "file:///tmp/a"] {
            let error = ObjectPlace::open(url).unwrap_err().to_string();
            assert!(error.contains("s3://bucket/name"), "{url}: {error}");
        }
        assert!(ObjectPlace::open("s3://bucket/a/../b").is_err());
        let place = ObjectPlace::open("s3://bucket/a b%20/").unwrap();
        assert_eq!(place.to_string(), "s3://bucket/a b%20");
        assert_eq!(place.join("c").unwrap().to_string(), "s3://bucket/a b%20/c");
    }

    #[test]
    fn answers_of_a_server_become_one_line() {
        let answer = "404 Not Found: <?xml version=\"1.0\"?>\n<Error><Code>NoSuchBucket</Code>\
                      <Message>There is no\nsuch bucket</Message></Error>";
        assert_eq!(one_line(answer), "404 Not Found: There is no such bucket");
        assert_eq!(one_line("a\n <?xml b"), "a <?xml b");
        assert_eq!(one_line(&"x".repeat(500)).len(), 404);
    }
}
