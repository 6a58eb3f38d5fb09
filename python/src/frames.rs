//! Frames of Python functions that are running: where each is, and the object that a method belongs
//! to.
//!
//! Attributes of frames, such as `f_lasti`, make an object for each answer, and none of them gives
//! one variable alone. So the fields of frames are read where they are public, and Python's own
//! functions are called otherwise.

use libloading::os::unix::Library;
use pyo3::{
    exceptions::PyTypeError,
    ffi, intern,
    prelude::*,
    types::{PyString, PyType},
};
use std::ffi::{c_char, c_int};

/// An instruction of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Address of the function's code, which is its `id`.
    pub(crate) code: usize,
    /// Number of the instruction that runs, in units of the Python that runs.
    instruction: c_int,
}

/// A frame.
pub(crate) struct Frame<'a, 'py>(Borrowed<'a, 'py, PyAny>);

/// The way in which frames are read.
enum Way {
    /// Their fields.
    Fields,
    /// Functions of Python.
    Functions(Functions),
    /// Their attributes, of which none gives one variable alone.
    Attributes,
}

/// Reads frames.
pub(crate) struct Frames {
    way: Way,
    kind: Py<PyType>,
    cell: Py<PyAny>,
    own: Py<PyString>,
}

impl Frames {
    /// Finds out how frames of this Python are read, from the frames that are running.
    ///
    /// # Errors
    /// Returns the exception if the frames that are running have no attributes.
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let innermost = py.import("sys")?.call_method0("_getframe")?;
        let cell = py.import("types")?.getattr("CellType")?;
        let way = if Fields::are_known(&innermost, &cell)? {
            Way::Fields
        } else {
            Functions::find().map_or(Way::Attributes, Way::Functions)
        };
        let own = PyString::intern(py, "self").unbind();
        Ok(Self { way, kind: innermost.get_type().unbind(), cell: cell.unbind(), own })
    }

    /// Visits a frame and the frames of its callers, the innermost first.
    ///
    /// Python 3.11 may make objects for this the first time, and so free others: hold no lock.
    ///
    /// # Errors
    /// Raises `TypeError` if the object is no frame.
    pub(crate) fn outward(
        &self,
        innermost: Option<&Bound<'_, PyAny>>,
        mut visit: impl FnMut(&Frame<'_, '_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let Some(innermost) = innermost else { return Ok(()) };
        let frame = self.frame(innermost)?;
        if let Way::Fields = self.way {
            let mut next = Some(frame);
            while let Some(frame) = next {
                visit(&frame)?;
                next = Fields::caller(&frame);
            }
            return Ok(());
        }
        let mut next = Some(innermost.clone());
        while let Some(frame) = next {
            let frame = Frame(frame.as_borrowed());
            visit(&frame)?;
            next = self.caller(&frame)?;
        }
        Ok(())
    }

    /// Returns an object as a frame.
    ///
    /// # Errors
    /// Raises `TypeError` if it is none.
    pub(crate) fn frame<'a, 'py>(&self, object: &'a Bound<'py, PyAny>) -> PyResult<Frame<'a, 'py>> {
        if object.get_type_ptr().cast() == self.kind.as_ptr() {
            return Ok(Frame(object.as_borrowed()));
        }
        Err(PyTypeError::new_err(format!("expected a frame, found {}", object.get_type())))
    }

    fn caller<'py>(&self, frame: &Frame<'_, 'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.way {
            Way::Fields => Ok(Fields::caller(frame).map(|caller| caller.0.to_owned())),
            Way::Functions(functions) => Ok(functions.caller(frame)),
            Way::Attributes => {
                let caller = frame.0.getattr(intern!(frame.0.py(), "f_back"))?;
                Ok((!caller.is_none()).then_some(caller))
            }
        }
    }

    /// Returns where a function is.
    ///
    /// # Errors
    /// Returns the exception if the frame lacks an attribute.
    pub(crate) fn place(&self, frame: &Frame<'_, '_>) -> PyResult<Place> {
        match &self.way {
            Way::Fields => Ok(Fields::place(frame)),
            Way::Functions(functions) => Ok(functions.place(frame)),
            Way::Attributes => {
                let py = frame.0.py();
                Ok(Place {
                    code: frame.0.getattr(intern!(py, "f_code"))?.as_ptr().addr(),
                    instruction: frame.0.getattr(intern!(py, "f_lasti"))?.extract()?,
                })
            }
        }
    }

    /// Returns the variable `self` of a function whose first parameter it is, and which never deletes
    /// it; `None` where it is unknown.
    ///
    /// `cell` is the number of its cell among the variables, if an inner function uses `self`, too.
    pub(crate) fn own_object<'py>(
        &self,
        frame: &Frame<'_, 'py>,
        cell: Option<usize>,
    ) -> Option<Bound<'py, PyAny>> {
        let object = match &self.way {
            Way::Fields => {
                let variable = Fields::variable(frame, cell.unwrap_or(0))?;
                if cell.is_some() { self.content(&variable)? } else { variable.to_owned() }
            }
            Way::Functions(functions) => functions.variable(frame, &self.own)?,
            Way::Attributes => return None,
        };
        (!object.is_none()).then_some(object)
    }

    /// Returns what is in a cell of CPython 3.10; `None` if it is empty.
    ///
    /// An exception of `cell_contents` would be an object, for which Python may free others.
    #[expect(unsafe_code)]
    fn content<'py>(&self, cell: &Borrowed<'_, 'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        if cell.get_type_ptr().cast() != self.cell.as_ptr() {
            return None;
        }
        // SAFETY: this is a cell, of the size of these fields, as `Fields::are_known` has found out. The
        // field is null or an object that the cell keeps alive.
        unsafe {
            let content = (*cell.as_ptr().cast::<Cell>()).content;
            Bound::from_borrowed_ptr_or_opt(cell.py(), content)
        }
    }

    /// Returns the address of the object that `own_object` returns; 0 where it is unknown.
    pub(crate) fn own_address(&self, frame: &Frame<'_, '_>, cell: Option<usize>) -> usize {
        // The usual case, without counting references.
        if let (Way::Fields, None) = (&self.way, cell) {
            let object = Fields::variable(frame, 0).filter(|object| !object.is_none());
            return object.map_or(0, |object| object.as_ptr().addr());
        }
        self.own_object(frame, cell).map_or(0, |object| object.as_ptr().addr())
    }
}

/// Fields of a cell in CPython 3.10: its header `cellobject.h`.
#[repr(C)]
struct Cell {
    reference_count: isize,
    kind: *mut ffi::PyTypeObject,
    content: *mut ffi::PyObject,
}

/// Fields of a frame in CPython 3.10: `struct _frame` in its header `cpython/frameobject.h`.
#[repr(C)]
struct Fields {
    reference_count: isize,
    kind: *mut ffi::PyTypeObject,
    /// Number of variables, cells, and values on the stack.
    variable_count: isize,
    caller: *mut ffi::PyObject,
    code: *mut ffi::PyObject,
    /// Builtins, globals, locals, the end of the stack, and the trace function.
    objects: [*mut ffi::PyObject; 5],
    stack_depth: c_int,
    is_traced: [c_char; 2],
    generator: *mut ffi::PyObject,
    instruction: c_int,
    line: c_int,
    block: c_int,
    state: c_char,
    blocks: [[c_int; 3]; 20],
    /// The first of the variables.
    variables: [*mut ffi::PyObject; 1],
}

impl Fields {
    /// Returns true if these are the fields of a frame and of its callers, and `Cell` those of cells.
    fn are_known(innermost: &Bound<'_, PyAny>, cell: &Bound<'_, PyAny>) -> PyResult<bool> {
        let kind = innermost.get_type();
        let sizes: (usize, usize) =
            (kind.getattr("__basicsize__")?.extract()?, kind.getattr("__itemsize__")?.extract()?);
        if innermost.py().version_info().minor != 10
            || sizes != (size_of::<Self>(), size_of::<*mut ffi::PyObject>())
            || cell.getattr("__basicsize__")?.extract::<usize>()? != size_of::<Cell>()
        {
            return Ok(false);
        }
        let mut next = innermost.clone();
        while !next.is_none() {
            let (caller, code) = (next.getattr("f_back")?, next.getattr("f_code")?);
            let caller_address = if caller.is_none() { 0 } else { caller.as_ptr().addr() };
            let bytes: c_int = next.getattr("f_lasti")?.extract()?;
            let frame = Frame(next.as_borrowed());
            let found = Self::place(&frame);
            // An instruction has two bytes.
            if Self::caller_pointer(&frame).addr() != caller_address
                || found.code != code.as_ptr().addr()
                || found.instruction.checked_mul(2) != Some(bytes)
            {
                return Ok(false);
            }
            next = caller;
        }
        Ok(true)
    }

    /// Returns where the fields of a frame are.
    fn of(frame: &Frame<'_, '_>) -> *const Self {
        frame.0.as_ptr().cast()
    }

    #[expect(unsafe_code)]
    fn caller_pointer(frame: &Frame<'_, '_>) -> *mut ffi::PyObject {
        // SAFETY: a frame has this size, as `are_known` has found out, and nobody writes to it
        // meanwhile, as this thread holds Python's lock.
        unsafe { (*Self::of(frame)).caller }
    }

    #[expect(unsafe_code)]
    fn caller<'a, 'py>(frame: &Frame<'a, 'py>) -> Option<Frame<'a, 'py>> {
        // SAFETY: the field is null or a frame that this frame keeps alive, which does not change while
        // this thread holds Python's lock and runs no Python.
        unsafe { Borrowed::from_ptr_or_opt(frame.0.py(), Self::caller_pointer(frame)) }.map(Frame)
    }

    #[expect(unsafe_code)]
    fn place(frame: &Frame<'_, '_>) -> Place {
        let fields = Self::of(frame);
        // SAFETY: as for `caller_pointer`.
        unsafe { Place { code: (*fields).code.addr(), instruction: (*fields).instruction } }
    }

    #[expect(unsafe_code)]
    fn variable<'a, 'py>(frame: &Frame<'a, 'py>, at: usize) -> Option<Borrowed<'a, 'py, PyAny>> {
        let fields = Self::of(frame);
        // SAFETY: as for `caller_pointer`.
        let count = unsafe { (*fields).variable_count };
        if at >= usize::try_from(count).ok()? {
            return None;
        }
        // SAFETY: as for `caller`; the frame has more than `at` variables, each of which is null or an
        // object.
        unsafe {
            let first = (&raw const (*fields).variables).cast::<*mut ffi::PyObject>();
            Borrowed::from_ptr_or_opt(frame.0.py(), first.add(at).read())
        }
    }
}

/// Functions that Python 3.11 has for frames; the last one since 3.12.
///
/// They are no part of the interface of all versions, for which this package is built, so they are
/// looked up.
struct Functions {
    caller: unsafe extern "C" fn(*mut ffi::PyFrameObject) -> *mut ffi::PyObject,
    instruction: unsafe extern "C" fn(*mut ffi::PyFrameObject) -> c_int,
    variable: Option<
        unsafe extern "C" fn(*mut ffi::PyFrameObject, *mut ffi::PyObject) -> *mut ffi::PyObject,
    >,
}

impl Functions {
    #[expect(unsafe_code)]
    fn find() -> Option<Self> {
        let python = Library::this();
        // SAFETY: these names are Python's, whose documentation says what the functions take and
        // return. Python is never unloaded.
        unsafe {
            Some(Self {
                caller: *python.get("PyFrame_GetBack").ok()?,
                instruction: *python.get("PyFrame_GetLasti").ok()?,
                variable: python.get("PyFrame_GetVar").ok().map(|found| *found),
            })
        }
    }

    #[expect(unsafe_code)]
    fn caller<'py>(&self, frame: &Frame<'_, 'py>) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the argument is a frame; the function returns null, without an exception, or a
        // reference.
        unsafe {
            let caller = (self.caller)(frame.0.as_ptr().cast());
            Bound::from_owned_ptr_or_opt(frame.0.py(), caller)
        }
    }

    #[expect(unsafe_code)]
    fn place(&self, frame: &Frame<'_, '_>) -> Place {
        let pointer = frame.0.as_ptr().cast();
        // SAFETY: the argument of both is a frame; the first one returns a reference to its code.
        unsafe {
            let code = ffi::PyFrame_GetCode(pointer).cast();
            let code = Bound::<PyAny>::from_owned_ptr(frame.0.py(), code);
            Place { code: code.as_ptr().addr(), instruction: (self.instruction)(pointer) }
        }
    }

    #[expect(unsafe_code)]
    fn variable<'py>(
        &self,
        frame: &Frame<'_, 'py>,
        name: &Py<PyString>,
    ) -> Option<Bound<'py, PyAny>> {
        let variable = self.variable?;
        // SAFETY: the arguments are a frame and a string; the function returns a reference, or null
        // with an exception.
        let found = unsafe {
            let found = variable(frame.0.as_ptr().cast(), name.as_ptr());
            Bound::from_owned_ptr_or_err(frame.0.py(), found)
        };
        found.ok()
    }
}
