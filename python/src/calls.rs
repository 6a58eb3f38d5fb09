//! Calls of operations that are known by where the functions around them are.

use crate::frames::{Frames, Place};
use pyo3::{
    prelude::*,
    types::{PyCode, PyTuple},
};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known of calls, by their frames and by the objects whose methods these run.
///
/// Each call of an operation is looked up here, so that only a new one takes steps of Python.
#[pyclass(module = "kprof._native", frozen)]
pub(crate) struct KnownCalls {
    frames: Frames,
    most_calls: usize,
    most_places: usize,
    known: Mutex<Known>,
}

/// What is known.
#[derive(Default)]
struct Known {
    codes: FxHashMap<usize, Code>,
    /// Numbers of the stacks, by where their functions are, the innermost first.
    numbers: FxHashMap<Box<[Place]>, usize>,
    stacks: Vec<Stack>,
    /// The calls that end with an object, by its address.
    uses: FxHashMap<usize, Vec<Call>>,
    call_count: usize,
    place_count: usize,
    /// Room for the call that is looked up.
    room: Room,
}

/// A call: where its functions are, and the addresses of its methods' objects.
#[derive(Default)]
struct Room {
    places: Vec<Place>,
    objects: Vec<usize>,
}

/// A function.
struct Code {
    /// Keeps the address from being used again.
    _code: Py<PyAny>,
    is_method: bool,
    cell: Option<usize>,
}

/// The calls from the same instructions of the same functions.
struct Stack {
    /// Frames of methods.
    methods: Box<[Method]>,
    /// By the addresses of the methods' objects, which are alive; 0 for an unknown object.
    calls: FxHashMap<Box<[usize]>, Py<PyTuple>>,
}

struct Method {
    /// Number of functions that it has called.
    depth: usize,
    cell: Option<usize>,
}

/// A call: the number of its stack, and the addresses of the methods' objects.
type Call = (usize, Box<[usize]>);

impl Known {
    /// Returns the number of a stack, which is added if it is new; `None` if a function is unknown.
    fn stack(&mut self, places: &[Place]) -> Option<usize> {
        if let Some(number) = self.numbers.get(places) {
            return Some(*number);
        }
        let mut methods = Vec::new();
        for (depth, place) in places.iter().enumerate() {
            let code = self.codes.get(&place.code)?;
            if code.is_method {
                methods.push(Method { depth, cell: code.cell });
            }
        }
        let number = self.stacks.len();
        self.stacks.push(Stack { methods: methods.into(), calls: FxHashMap::default() });
        self.numbers.insert(places.into(), number);
        self.place_count += places.len();
        Some(number)
    }

    fn forget_calls(&mut self) {
        self.numbers.clear();
        self.stacks.clear();
        self.uses.clear();
        self.call_count = 0;
        self.place_count = 0;
    }
}

impl KnownCalls {
    /// Locks what is known. Python must make no object meanwhile, as it may then free others, which
    /// calls `forget`.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds where the functions of a call are.
    fn places(&self, innermost: Option<&Bound<'_, PyAny>>) -> PyResult<Room> {
        let mut room = std::mem::take(&mut self.known().room);
        room.places.clear();
        self.frames.outward(innermost, |frame| {
            room.places.push(self.frames.place(frame)?);
            Ok(())
        })?;
        Ok(room)
    }

    /// Finds the objects of a call's methods.
    fn objects(
        &self,
        innermost: Option<&Bound<'_, PyAny>>,
        methods: &[Method],
        found: &mut Vec<usize>,
    ) -> PyResult<()> {
        found.clear();
        let mut methods = methods.iter().peekable();
        let mut depth = 0;
        self.frames.outward(innermost, |frame| {
            if let Some(method) = methods.next_if(|method| method.depth == depth) {
                found.push(self.frames.own_address(frame, method.cell));
            }
            depth += 1;
            Ok(())
        })
    }
}

#[pymethods]
impl KnownCalls {
    /// Begins to remember at most this number of calls, and of frames of their stacks.
    #[new]
    fn new(py: Python<'_>, most_calls: usize, most_places: usize) -> PyResult<Self> {
        let known = Mutex::default();
        Ok(Self { frames: Frames::new(py)?, most_calls, most_places, known })
    }

    /// Returns what is known of a call; `None` if it is unknown.
    fn find(
        &self,
        py: Python<'_>,
        innermost: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Option<Py<PyTuple>>> {
        let innermost = innermost.as_ref();
        let mut room = self.places(innermost)?;
        let mut known = self.known();
        let number = known.numbers.get(&*room.places).copied();
        let mut call = None;
        if let Some(stack) = number.and_then(|number| known.stacks.get(number)) {
            self.objects(innermost, &stack.methods, &mut room.objects)?;
            call = stack.calls.get(&*room.objects).map(|call| call.clone_ref(py));
        }
        known.room = room;
        Ok(call)
    }

    /// Remembers a function: whether it is a method whose object is asked for, and the number of the
    /// object's cell, if an inner function uses it.
    fn learn(&self, code: &Bound<'_, PyCode>, is_method: bool, cell: Option<usize>) {
        let known = Code { _code: code.clone().into_any().unbind(), is_method, cell };
        self.known().codes.insert(code.as_ptr().addr(), known);
    }

    /// Remembers what is known of a call, all of whose functions are known.
    fn remember(
        &self,
        innermost: Option<Bound<'_, PyAny>>,
        call: Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let innermost = innermost.as_ref();
        let mut room = self.places(innermost)?;
        let mut known = self.known();
        let is_new = !known.numbers.contains_key(&*room.places);
        let new_places = if is_new { room.places.len() } else { 0 };
        if known.call_count >= self.most_calls || known.place_count + new_places > self.most_places
        {
            known.forget_calls();
        }
        let Some(number) = known.stack(&room.places) else { return Ok(()) };
        self.objects(innermost, &known.stacks[number].methods, &mut room.objects)?;
        for object in room.objects.iter().filter(|object| **object != 0) {
            known.uses.entry(*object).or_default().push((number, room.objects.as_slice().into()));
        }
        known.stacks[number].calls.insert(room.objects.as_slice().into(), call.unbind());
        known.call_count += 1;
        known.room = room;
        Ok(())
    }

    /// Forgets the calls that end with an object, by its `id`.
    fn forget(&self, identity: usize) {
        let mut known = self.known();
        for (number, objects) in known.uses.remove(&identity).unwrap_or_default() {
            if let Some(stack) = known.stacks.get_mut(number) {
                stack.calls.remove(&objects);
            }
        }
    }

    /// Returns the object whose method a frame runs; `None` if it is unknown.
    fn own_object<'py>(
        &self,
        frame: Bound<'py, PyAny>,
        cell: Option<usize>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.frames.own_object(&self.frames.frame(&frame)?, cell))
    }

    /// Number of calls that are remembered.
    #[getter]
    fn call_count(&self) -> usize {
        self.known().call_count
    }

    /// Number of frames of the stacks of these calls.
    #[getter]
    fn place_count(&self) -> usize {
        self.known().place_count
    }
}
