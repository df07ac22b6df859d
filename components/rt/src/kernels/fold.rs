//! Latin letters without their marks: what is left of `é` is `e`.
//!
//! Not a normal form of Unicode, whose tables would be larger than most artifacts: letters
//! of the Latin blocks only, and combining marks.

/// Bases of U+00C0 to U+024F; `-` where there is none.
static NEAR: &[u8; 400] =
    b"AAAAAA-CEEEEIIII-NOOOOO-OUUUUY--aaaaaa-ceeeeiiii-nooooo-ouuuuy-yAaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGg\
      HhHhIiIiIiIiIi--JjKk-LlLlLl--LlNnNnNn---OoOoOo--RrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZz-b-------\
      ---------------I--l-----Oo-------------Uu----Zz----------------------AaIiOoUuUuUuUuUu-AaAa----GgKkOo\
      Oo--j---Gg--NnAa----AaAaEeEeIiIiOoOoRrRrUuUuSsTt--Hh------AaEeOoOoOoOoYy------ACcLT----B--EeJj--RrYy";

/// Bases of U+1E00 to U+1EFF.
static FAR: &[u8; 256] =
    b"AaBbBbBbCcDdDdDdDdDdEeEeEeEeEeFfGgHhHhHhHhHhIiIiKkKkKkLlLlLlLlMmMmMmNnNnNnNnOoOoOoOoPpPpRrRrRrRrSsSs\
      SsSsSsTtTtTtTtUuUuUuUuUuVvVvWwWwWwWwWwXxXxYyZzZzZzhtwy------AaAaAaAaAaAaAaAaAaAaAaAaEeEeEeEeEeEeEeEe\
      IiIiOoOoOoOoOoOoOoOoOoOoOoOoUuUuUuUuUuUuUuYyYyYyYy------";

/// Letters of which two are left.
const PAIRS: [(char, &str); 11] = [
    ('ß', "ss"),
    ('ẞ', "SS"),
    ('æ', "ae"),
    ('Æ', "AE"),
    ('œ', "oe"),
    ('Œ', "OE"),
    ('þ', "th"),
    ('Þ', "Th"),
    ('ð', "d"),
    ('Ð', "D"),
    ('ĳ', "ij"),
];

/// Every Latin letter without its marks, and no combining marks.
pub fn unaccent(text: &str, out: &mut impl FnMut(u8)) {
    for character in text.chars() {
        if character.is_ascii() {
            out(character as u8);
            continue;
        }
        let code = character as usize;
        let near = code.checked_sub(0xC0).and_then(|at| NEAR.get(at));
        let base = near.or_else(|| code.checked_sub(0x1E00).and_then(|at| FAR.get(at)));
        match (base, PAIRS.iter().find(|(from, _)| *from == character)) {
            (_, Some((_, pair))) => pair.bytes().for_each(&mut *out),
            (Some(&base), None) if base != b'-' => out(base),
            _ if (0x300..0x370).contains(&code) => {}
            _ => super::text::put(character, out),
        }
    }
}
