//! Text about a halo op: the window for which the op gathers data.

use super::attribute::{pair, parenthesised};
use crate::perf::row::OpRow;

/// Formats ` w=window s=stride p=padding d=dilation | layout`, with `x` for unknown values.
///
/// # Compatibility
/// tt-perf-report 1.4.1 ignores the attribute `pad_hw`, which contained the padding in 2024.
pub(super) fn suffix(row: &OpRow, is_upstream_exact: bool) -> String {
    let padding = padding(&row.attributes).unwrap_or_else(|| {
        if is_upstream_exact { "x".to_owned() } else { pair_text(row, "pad_hw") }
    });
    let (window, stride, dilation) =
        (pair_text(row, "window_hw"), pair_text(row, "stride_hw"), pair_text(row, "dilation_hw"));
    let layout = layout(&row.attributes).unwrap_or("x");
    format!(" w={window} s={stride} p={padding} d={dilation} | {layout}")
}

fn pair_text(row: &OpRow, name: &str) -> String {
    let pair = pair(&row.attributes, name);
    pair.map_or_else(|| "x".to_owned(), |(h, w)| format!("({h},{w})"))
}

/// Formats the padding: above, below, left and right.
fn padding(attributes: &str) -> Option<String> {
    let text = parenthesised(attributes, "padding")?;
    let parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>().as_slice() {
        [top, bottom, left, right] => Some(format!("(({top}, {bottom}), ({left}, {right}))")),
        _ => None,
    }
}

fn layout(attributes: &str) -> Option<&str> {
    let after = attributes.split_once("memory_layout=")?.1;
    let name = after.split_once("::")?.1;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halos_of_both_generations_show_their_padding() {
        let new = row("window_hw=(7;7); stride_hw=(2;2); padding=((3; 3); (1; 1)); \
            memory_layout=TensorMemoryLayout::HEIGHT_SHARDED;");
        assert_eq!(suffix(&new, false), " w=(7,7) s=(2,2) p=((3, 3), (1, 1)) d=x | HEIGHT_SHARDED");
        let old = row("pad_hw=(3;3); dilation_hw=(1;1)");
        assert_eq!(suffix(&old, false), " w=x s=x p=(3,3) d=(1,1) | x");
        assert_eq!(suffix(&old, true), " w=x s=x p=x d=(1,1) | x");
    }

    fn row(attributes: &str) -> OpRow {
        OpRow { attributes: attributes.into(), ..OpRow::default() }
    }
}
