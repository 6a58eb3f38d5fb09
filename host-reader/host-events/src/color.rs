//! Colours of events.

use std::fmt;

/// Colour of an event.
///
/// ```
/// use host_events::HostColor;
/// let orange = HostColor::from_rgb(0xFF_8000).unwrap();
/// assert_eq!((orange.rgb(), orange.to_string().as_str()), (0xFF_8000, "#ff8000"));
/// assert_eq!(HostColor::from_rgb(0x100_0000), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostColor {
    /// Red component.
    pub red: u8,
    /// Green component.
    pub green: u8,
    /// Blue component.
    pub blue: u8,
}

impl HostColor {
    /// Creates a colour from 0xRRGGBB; returns `None` if `rgb` is above 0xFFFFFF.
    #[must_use]
    pub const fn from_rgb(rgb: u32) -> Option<Self> {
        match rgb.to_be_bytes() {
            [0, red, green, blue] => Some(Self { red, green, blue }),
            _ => None,
        }
    }

    /// Returns the colour as 0xRRGGBB.
    #[must_use]
    pub const fn rgb(self) -> u32 {
        u32::from_be_bytes([0, self.red, self.green, self.blue])
    }
}

impl fmt::Display for HostColor {
    /// Writes the colour in HTML notation, such as `#ff8000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:06x}", self.rgb())
    }
}
