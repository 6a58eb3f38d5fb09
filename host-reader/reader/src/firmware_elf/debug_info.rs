//! Reader for the DWARF data of an ELF file: constants, layouts of structures, and arguments that
//! callers pass to inlined functions.
//!
//! The addresses of tt-metal's mailboxes, and all other addresses that host and firmware share,
//! change with every release. The firmware's own debug information contains these addresses, so
//! none are hard-coded here.

use gimli::{
    Attribute, AttributeValue, DebuggingInformationEntry, DwTag, Dwarf, EndianSlice,
    EvaluationResult, LittleEndian, Unit, UnitSectionOffset, Value, constants as dw,
};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// The parts of a file's debug information that a loader of firmware needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugInfo {
    types: BTreeMap<usize, Type>,
    /// Offsets of the variables' types in the section `.debug_info`, by variable name.
    variables: BTreeMap<String, usize>,
    constants: BTreeMap<String, u64>,
    /// Constant arguments of inlined calls, by (function name, parameter name).
    arguments: BTreeMap<(String, String), u64>,
}

/// A type. It refers to other types by their offset in the section `.debug_info`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Type {
    Scalar {
        size_bytes: u64,
    },
    /// A qualified type, a typedef or a pointer. Contains the offset of the underlying type.
    Alias(usize),
    Array {
        element: usize,
        count: u64,
    },
    Struct {
        size_bytes: u64,
        members: Vec<Member>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    /// Name of the member; empty for an anonymous structure inside another structure.
    name: String,
    offset: u64,
    type_at: usize,
}

/// Location of a member or an element inside a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset from the beginning of the variable or of the object that it points to, in bytes.
    pub offset: u32,
    /// Size, in bytes.
    pub size_bytes: u32,
}

/// Reason why a file's debug information cannot be read, or lacks a requested item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DebugInfoError {
    /// The file has no readable DWARF.
    #[error("expected an ELF file with DWARF (compiled with -g, not stripped): {reason}")]
    Unreadable {
        /// The parser's message.
        reason: String,
    },
    /// The file has no entry for a name.
    #[error("the debug information has no {kind} `{name}`")]
    Missing {
        /// Kind of the requested item.
        kind: &'static str,
        /// Name of the requested item.
        name: String,
    },
}

impl DebugInfoError {
    fn unreadable(error: impl ToString) -> Self {
        Self::Unreadable { reason: error.to_string() }
    }

    fn missing(kind: &'static str, name: impl Into<String>) -> Self {
        Self::Missing { kind, name: name.into() }
    }
}

impl From<gimli::Error> for DebugInfoError {
    fn from(error: gimli::Error) -> Self {
        Self::unreadable(error)
    }
}

impl DebugInfo {
    /// Reads the debug information of an ELF file.
    ///
    /// # Errors
    /// Returns [`DebugInfoError::Unreadable`] if the file has no debug information or if that
    /// information is damaged.
    pub fn parse(file: &[u8]) -> Result<Self, DebugInfoError> {
        let object = object::File::parse(file).map_err(DebugInfoError::unreadable)?;
        let dwarf = Dwarf::load(|id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
            let section = object.section_by_name(id.name());
            let bytes = section.and_then(|section| section.data().ok()).unwrap_or_default();
            Ok(EndianSlice::new(bytes, LittleEndian))
        })?;
        let mut info = Self::default();
        let mut parameters = Parameters::default();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            UnitReader { dwarf: &dwarf, unit: &unit, info: &mut info, parameters: &mut parameters }
                .read()?;
        }
        if info.types.is_empty() {
            return Err(DebugInfoError::unreadable("it has no section .debug_info"));
        }
        info.arguments = parameters.named();
        Ok(info)
    }

    /// Returns the value of the constant called `name`, a name without namespaces.
    ///
    /// # Errors
    /// If there is no such constant.
    pub fn constant(&self, name: &str) -> Result<u64, DebugInfoError> {
        let value = self.constants.get(name).copied();
        value.ok_or_else(|| DebugInfoError::missing("constant", name))
    }

    /// Returns the constant that a call of an inlined function passes for this parameter.
    ///
    /// # Errors
    /// If there is no such function or parameter, or the value is not a constant.
    pub fn argument(&self, function: &str, parameter: &str) -> Result<u64, DebugInfoError> {
        let value = self.arguments.get(&(function.to_owned(), parameter.to_owned())).copied();
        value.ok_or_else(|| {
            DebugInfoError::missing("constant argument", format!("{function}({parameter})"))
        })
    }

    /// Returns the location of a part of a variable. If the variable is a pointer, the part belongs
    /// to the object that it points to.
    ///
    /// `path` is in C++ syntax, for example `launch[2].kernel_config.enables`; an empty path is the
    /// whole object.
    ///
    /// # Errors
    /// If there is no such variable or member.
    pub fn part(&self, variable: &str, path: &str) -> Result<Part, DebugInfoError> {
        let type_at = self.variables.get(variable);
        let mut type_at = *type_at.ok_or_else(|| DebugInfoError::missing("variable", variable))?;
        let mut offset = 0;
        for step in path.split(['.', '[']).filter(|step| !step.is_empty()) {
            let (distance, next) = self.step(type_at, step).ok_or_else(|| {
                DebugInfoError::missing("member", format!("{variable}.{path} (at `{step}`)"))
            })?;
            offset += distance;
            type_at = next;
        }
        let size_bytes = self.size_bytes(type_at, DEPTH_MAX).unwrap_or(0);
        let [offset, size_bytes] =
            [offset, size_bytes].map(|value: u64| u32::try_from(value).unwrap_or(u32::MAX));
        Ok(Part { offset, size_bytes })
    }

    /// Returns the offset of a member or an element from the beginning of the containing type, and
    /// the type of the member or element.
    fn step(&self, type_at: usize, step: &str) -> Option<(u64, usize)> {
        match self.resolved(type_at)? {
            Type::Array { element, count } => {
                let index: u64 = step.strip_suffix(']')?.parse().ok()?;
                let size_bytes = self.size_bytes(*element, DEPTH_MAX)?;
                (index < *count).then_some(())?;
                Some((index.checked_mul(size_bytes)?, *element))
            }
            Type::Struct { members, .. } => self.member(members, step, DEPTH_MAX),
            Type::Scalar { .. } | Type::Alias(_) => None,
        }
    }

    /// Finds a member by its name, including members of anonymous structures.
    fn member(&self, members: &[Member], name: &str, depth: usize) -> Option<(u64, usize)> {
        if let Some(member) = members.iter().find(|member| member.name == name) {
            return Some((member.offset, member.type_at));
        }
        let depth = depth.checked_sub(1)?;
        members.iter().filter(|member| member.name.is_empty()).find_map(|outer| {
            let Type::Struct { members, .. } = self.resolved(outer.type_at)? else { return None };
            let (offset, type_at) = self.member(members, name, depth)?;
            Some((outer.offset.checked_add(offset)?, type_at))
        })
    }

    /// Returns the underlying type, without typedefs, qualifiers and pointers.
    fn resolved(&self, mut type_at: usize) -> Option<&Type> {
        for _ in 0..DEPTH_MAX {
            match self.types.get(&type_at)? {
                Type::Alias(next) => type_at = *next,
                found => return Some(found),
            }
        }
        None
    }

    fn size_bytes(&self, type_at: usize, depth: usize) -> Option<u64> {
        match self.resolved(type_at)? {
            Type::Scalar { size_bytes } | Type::Struct { size_bytes, .. } => Some(*size_bytes),
            Type::Array { element, count } => {
                self.size_bytes(*element, depth.checked_sub(1)?)?.checked_mul(*count)
            }
            Type::Alias(_) => None,
        }
    }
}

/// Constant arguments of inlined calls.
///
/// A call may precede the declaration of its function in the file. So each argument is first stored
/// with the offset of its parameter's declaration.
#[derive(Default)]
struct Parameters {
    /// Names of a function and of its parameter, by the offset of the parameter's declaration.
    declared: BTreeMap<usize, (String, String)>,
    /// Arguments of inlined calls, as (offset of the parameter's declaration, value).
    given: Vec<(usize, u64)>,
}

impl Parameters {
    fn named(self) -> BTreeMap<(String, String), u64> {
        let Self { declared, given } = self;
        // If a function has several calls, the first call's value is used.
        given
            .into_iter()
            .rev()
            .filter_map(|(at, value)| Some((declared.get(&at)?.clone(), value)))
            .collect()
    }
}

/// State for reading a compilation unit.
struct UnitReader<'a, 'file> {
    dwarf: &'a Dwarf<Slice<'file>>,
    unit: &'a Unit<Slice<'file>>,
    info: &'a mut DebugInfo,
    parameters: &'a mut Parameters,
}

/// A DWARF entry that encloses the entry being read, such as the structure of a member or the
/// function of a parameter.
struct Outer {
    depth: isize,
    at: usize,
    name: String,
}

impl UnitReader<'_, '_> {
    fn read(&mut self) -> Result<(), DebugInfoError> {
        let mut outers: Vec<Outer> = Vec::new();
        let (unit, dwarf) = (self.unit, self.dwarf);
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            let depth = entry.depth();
            outers.retain(|outer| outer.depth < depth);
            let at = section_offset(entry.offset().to_unit_section_offset(unit));
            let name = entry.attr_value(dw::DW_AT_name);
            let name = name.and_then(|name| dwarf.attr_string(unit, name).ok());
            let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.record(entry, at, &name, outers.last());
            outers.push(Outer { depth, at, name });
        }
        Ok(())
    }

    fn record(&mut self, entry: &Entry<'_>, at: usize, name: &str, outer: Option<&Outer>) {
        match entry.tag() {
            dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                let size_bytes = unsigned(entry.attr(dw::DW_AT_byte_size)).unwrap_or(0);
                self.info.types.insert(at, Type::Scalar { size_bytes });
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_union_type | dw::DW_TAG_class_type => {
                let size_bytes = unsigned(entry.attr(dw::DW_AT_byte_size)).unwrap_or(0);
                self.info.types.insert(at, Type::Struct { size_bytes, members: Vec::new() });
            }
            dw::DW_TAG_array_type => {
                if let Some(element) = self.type_of(entry) {
                    self.info.types.insert(at, Type::Array { element, count: 1 });
                }
            }
            tag if is_alias(tag) => {
                if let Some(type_at) = self.type_of(entry) {
                    self.info.types.insert(at, Type::Alias(type_at));
                }
            }
            dw::DW_TAG_subrange_type => self.add_dimension(entry, outer),
            dw::DW_TAG_member => self.add_member(entry, name, outer),
            dw::DW_TAG_variable | dw::DW_TAG_enumerator => self.add_variable(entry, name),
            dw::DW_TAG_formal_parameter => self.add_parameter(entry, at, name, outer),
            _ => {}
        }
    }

    /// Multiplies the enclosing array's element count by the length of one dimension. A
    /// multidimensional array is stored as one array of all elements.
    fn add_dimension(&mut self, entry: &Entry<'_>, outer: Option<&Outer>) {
        let last = unsigned(entry.attr(dw::DW_AT_upper_bound)).map(|last| last.wrapping_add(1));
        let length = unsigned(entry.attr(dw::DW_AT_count)).or(last).unwrap_or(0);
        let array = outer.and_then(|outer| self.info.types.get_mut(&outer.at));
        if let Some(Type::Array { count, .. }) = array {
            *count = count.saturating_mul(length);
        }
    }

    fn add_member(&mut self, entry: &Entry<'_>, name: &str, outer: Option<&Outer>) {
        let Some(type_at) = self.type_of(entry) else { return };
        // Members of a union have no offset attribute. All of them begin at 0.
        let offset = unsigned(entry.attr(dw::DW_AT_data_member_location)).unwrap_or(0);
        let owner = outer.and_then(|outer| self.info.types.get_mut(&outer.at));
        if let Some(Type::Struct { members, .. }) = owner {
            members.push(Member { name: name.to_owned(), offset, type_at });
        }
    }

    fn add_variable(&mut self, entry: &Entry<'_>, name: &str) {
        if name.is_empty() {
            return;
        }
        if let Some(value) = unsigned(entry.attr(dw::DW_AT_const_value)) {
            self.info.constants.entry(name.to_owned()).or_insert(value);
        }
        if let Some(type_at) = self.type_of(entry) {
            self.info.variables.entry(name.to_owned()).or_insert(type_at);
        }
    }

    fn add_parameter(&mut self, entry: &Entry<'_>, at: usize, name: &str, outer: Option<&Outer>) {
        if let Some(function) = outer.filter(|_| !name.is_empty()) {
            let names = (function.name.clone(), name.to_owned());
            self.parameters.declared.insert(at, names);
        }
        let origin = entry.attr_value(dw::DW_AT_abstract_origin);
        let origin = origin.and_then(|origin| self.target(&origin));
        if let Some((origin, value)) = origin.zip(self.constant_value(entry)) {
            self.parameters.given.push((origin, value));
        }
    }

    /// Returns the value of a parameter if it is constant.
    fn constant_value(&self, entry: &Entry<'_>) -> Option<u64> {
        if let Some(value) = unsigned(entry.attr(dw::DW_AT_const_value)) {
            return Some(value);
        }
        let location = entry.attr_value(dw::DW_AT_location)?;
        if let AttributeValue::Exprloc(expression) = location {
            return self.evaluated(expression);
        }
        let mut locations = self.dwarf.attr_locations(self.unit, location).ok()??;
        // The first location of a parameter describes the value that the caller passed.
        self.evaluated(locations.next().ok()??.data)
    }

    /// Evaluates a DWARF expression; returns `None` if it needs registers or memory.
    fn evaluated(&self, expression: gimli::Expression<Slice<'_>>) -> Option<u64> {
        let mut evaluation = expression.evaluation(self.unit.encoding());
        evaluation.set_max_iterations(EVALUATION_STEPS_MAX);
        match evaluation.evaluate().ok()? {
            EvaluationResult::Complete => {}
            _ => return None,
        }
        match evaluation.as_result().first()?.location {
            gimli::Location::Value { value: Value::Generic(value) } => Some(value),
            gimli::Location::Value { value } => value.to_u64(u64::MAX).ok(),
            gimli::Location::Bytes { value } => {
                let bytes = value.slice().iter().take(8).enumerate();
                Some(bytes.fold(0, |word, (index, byte)| word | u64::from(*byte) << (8 * index)))
            }
            _ => None,
        }
    }

    fn type_of(&self, entry: &Entry<'_>) -> Option<usize> {
        self.target(&entry.attr_value(dw::DW_AT_type)?)
    }

    /// Returns the offset of the entry to which an attribute value refers.
    fn target(&self, value: &AttributeValue<Slice<'_>>) -> Option<usize> {
        match *value {
            AttributeValue::UnitRef(offset) => {
                Some(section_offset(offset.to_unit_section_offset(self.unit)))
            }
            AttributeValue::DebugInfoRef(offset) => Some(offset.0),
            _ => None,
        }
    }
}

fn is_alias(tag: DwTag) -> bool {
    let aliases = [
        dw::DW_TAG_typedef,
        dw::DW_TAG_const_type,
        dw::DW_TAG_volatile_type,
        dw::DW_TAG_pointer_type,
        dw::DW_TAG_reference_type,
        dw::DW_TAG_atomic_type,
    ];
    aliases.contains(&tag)
}

fn section_offset(offset: UnitSectionOffset) -> usize {
    offset.0
}

fn unsigned(attribute: Option<&Attribute<Slice<'_>>>) -> Option<u64> {
    let attribute = attribute?;
    attribute.udata_value().or_else(|| attribute.sdata_value().map(i64::cast_unsigned))
}

/// Maximum nesting depth of types, as a guard against damaged files. The types of valid files nest
/// less deeply.
const DEPTH_MAX: usize = 64;
/// Maximum number of steps for evaluating an expression, as a guard against damaged files.
/// Constants in valid files need fewer steps.
const EVALUATION_STEPS_MAX: u32 = 64;
