//! The protocol, implemented with the official SDK.

use super::{
    arguments::{Call, tools},
    root::Root,
    session::Session,
    table::SCHEMA_VERSION,
};
use crate::{
    failure::{Failure, OrFail, failure},
    terminal::printable,
};
use rmcp::{
    RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
        Tool,
    },
    service::{RequestContext, ServerInitializeError},
    transport::stdio,
};
use std::{path::Path, sync::Arc};

const INSTRUCTIONS: &str = "Figures of kernels on Tenstorrent chips. Load a recording, then ask \
    explain first: it ranks causes with what could be gained at most. Answers are tables of at most \
    4 kB: columns and rows; if more has a handle, call more with it. A column's unit is the end of its \
    name, such as _ns, _cycles, _bytes or _percent; others are counts, numbers or texts. null is unknown, \
    and null_means tells why; lost tells what is missing, provenance what all figures rest on.";

/// Maximum number of characters in an error message. A message may quote text of the client, in
/// which a character takes up to four bytes, so the message takes less than 4096 bytes.
const LONGEST_ERROR: usize = 960;

/// Serves one client on standard input and output.
///
/// # Errors
/// If the input cannot be loaded, or the client does not follow the protocol.
pub(super) fn run(input: Option<&Path>, root: &Path) -> Result<(), Failure> {
    // The restriction must precede the first thread, because it does not apply to existing threads.
    let session = Session::new(Root::confine(root, input)?);
    if let Some(path) = input {
        session.load(path)?;
    }
    let tools = tools().map_err(Failure::Sentence)?;
    let server = Server { session: Arc::new(session), tools };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().or_fail()?;
    let served = runtime.block_on(serve(server));
    // Do not wait for a blocked read of standard input, which cannot be cancelled.
    runtime.shutdown_background();
    served
}

async fn serve(server: Server) -> Result<(), Failure> {
    let running = server.serve(stdio()).await.map_err(|error| no_client(&error))?;
    running.waiting().await.map(drop).or_fail()
}

fn no_client(error: &ServerInitializeError) -> Failure {
    failure!(
        "expected a client of the Model Context Protocol on standard input, found none ({error}); \
         an agent's client starts kprof mcp itself, see docs/mcp.md"
    )
}

struct Server {
    session: Arc<Session>,
    tools: Vec<Tool>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("kprof", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_none() {
            let names: Vec<_> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
            let sentence = format!("expected one of the tools {}", names.join(", "));
            return Err(ErrorData::invalid_params(sentence, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let call = Call { tool: request.name.into_owned(), arguments };
        let session = Arc::clone(&self.session);
        // Computing figures takes time and must not delay answers to pings.
        let answer = tokio::task::spawn_blocking(move || session.answer(call)).await;
        let answer = answer
            .unwrap_or_else(|_| Err(failure!("internal error in kprof; ask another question")));
        Ok(result_of(answer).into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }
}

/// Returns the answer, or an error message. An error message is JSON text of bounded size.
fn result_of(answer: Result<String, Failure>) -> CallToolResult {
    match answer {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(failure) => {
            let sentence = printable(&failure.to_string(), LONGEST_ERROR);
            let error = serde_json::json!({ "schema_version": SCHEMA_VERSION, "error": sentence });
            CallToolResult::error(vec![ContentBlock::text(error.to_string())])
        }
    }
}
