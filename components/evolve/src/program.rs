//! Programs of the language as what evolves: drawn, changed, mixed and made simple as trees. Whatever
//! comes out has the promised types, or is not handed out.

use auto_json::Value;
use auto_lang::{Expr, Op, accepts, graphs, parse, type_of};
use auto_schema::types::Type;
use auto_search::Random;

/// What a program takes and gives: this never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What `$` is.
    pub input: Type,
    /// What it gives.
    pub output: Type,
    /// The most nodes.
    pub most: usize,
}

/// What stands in a tree, as far as this file changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Number,
    Bool,
    Text,
    List,
    Other,
}

/// How often a change is tried until one is of the interface.
const TRIES: usize = 40;
/// How deep what is drawn may be.
const DEPTH: usize = 3;

const NUMBERS: [Op; 4] = [Op::Add, Op::Sub, Op::Mul, Op::Div];
const ORDERS: [Op; 4] = [Op::Lt, Op::Le, Op::Gt, Op::Ge];
/// A text of a text.
const TEXTS: [Op; 5] = [Op::Lower, Op::Upper, Op::Title, Op::Trim, Op::Collapse];
/// Whether a text has another.
const PARTS: [Op; 3] = [Op::Contains, Op::Starts, Op::Ends];
/// What two parts of a text at a separator are.
const SIDES: [Op; 2] = [Op::Before, Op::After];
/// A list of a list.
const LISTS: [Op; 3] = [Op::Reverse, Op::Sort, Op::Dedup];
/// A list of a list and a number.
const CUTS: [Op; 2] = [Op::Take, Op::Drop];
/// An item of a list.
const ITEMS: [Op; 2] = [Op::First, Op::Last];
/// Texts that mean something in many others.
const COMMON: [&str; 8] = ["", " ", ",", "-", ".", ":", "/", "@"];

impl Interface {
    /// Reads a program and holds it to the interface.
    pub fn read(&self, text: &str) -> Result<Expr, String> {
        let expression = parse(text.trim()).map_err(|error| error.to_string())?;
        self.check(&expression)?;
        Ok(expression)
    }

    fn check(&self, expression: &Expr) -> Result<(), String> {
        let given = type_of(expression, &self.input).map_err(|error| error.to_string())?;
        if !accepts(&self.output, &given) {
            return Err(format!("it gives {given}, and has to give {}", self.output));
        }
        let size = expression.size();
        if size > self.most {
            return Err(format!("it has {size} nodes, and at most {} are allowed", self.most));
        }
        Ok(())
    }

    /// Its graph. None where it is too large to be one.
    pub fn graph(&self, expression: &Expr) -> Option<Vec<u8>> {
        graphs::program(expression, &self.input, &self.output).to_bytes().ok()
    }

    /// One drawn anew; none where none was found.
    pub fn draw(&self, random: &mut Random) -> Option<Expr> {
        let sort = sort_of_type(&self.output);
        self.tried(random, |random| self.grow(sort, DEPTH, random))
    }

    /// Another one near it.
    pub fn change(&self, program: &Expr, structural: bool, random: &mut Random) -> Option<Expr> {
        self.tried(random, |random| {
            let at = random.below(program.size());
            let here = node(program, at)?;
            let other = if structural { self.rebuilt(here, random) } else { self.tuned(here, random) };
            other.map(|other| replaced(program, at, &other)).filter(|made| made != program)
        })
    }

    /// A part of the other in the place of a part of the one.
    pub fn mix(&self, one: &Expr, other: &Expr, random: &mut Random) -> Option<Expr> {
        self.tried(random, |random| {
            let (at, from) = (random.below(one.size()), random.below(other.size()));
            let (here, there) = (node(one, at)?, node(other, from)?);
            let fits = self.sort(here) == self.sort(there) && self.sort(here) != Sort::Other;
            fits.then(|| replaced(one, at, there)).filter(|made| made != one && made != other)
        })
    }

    /// A smaller one: a part of it in the place of the whole that it is part of.
    pub fn simplify(&self, program: &Expr, random: &mut Random) -> Option<Expr> {
        self.tried(random, |random| {
            let at = random.below(program.size());
            let here = node(program, at)?;
            let parts: Vec<Expr> = here.children().into_iter().cloned().collect();
            let part = random.pick(&parts)?;
            let made = replaced(program, at, part);
            (made.size() < program.size()).then_some(made)
        })
    }

    fn tried(&self, random: &mut Random, mut one: impl FnMut(&mut Random) -> Option<Expr>) -> Option<Expr> {
        (0..TRIES).find_map(|_| one(random).filter(|made| self.check(made).is_ok()))
    }

    fn sort(&self, part: &Expr) -> Sort {
        type_of(part, &self.input).map_or(Sort::Other, |ty| sort_of_type(&ty))
    }

    /// The places in the input that hold a sort, two fields deep.
    fn leaves(&self, sort: Sort) -> Vec<Expr> {
        let mut found = Vec::new();
        let mut open = vec![(Expr::Input, &self.input, 0)];
        while let Some((expression, ty, depth)) = open.pop() {
            if sort_of_type(ty) == sort {
                found.push(expression.clone());
            }
            if let (Type::Record(fields), true) = (ty, depth < 2) {
                let inner = |field: &'_ auto_schema::types::Field| expression.clone().field(field.name.as_str());
                open.extend(
                    fields.iter().filter(|field| !field.optional).map(|field| (inner(field), &field.ty, depth + 1)),
                );
            }
        }
        found.sort();
        found
    }

    fn grow(&self, sort: Sort, depth: usize, random: &mut Random) -> Option<Expr> {
        let grown = |sort, random: &mut Random| self.grow(sort, depth.saturating_sub(1), random);
        match sort {
            Sort::Number if depth == 0 || random.chance(300_000) => {
                let leaves = self.leaves(Sort::Number);
                if random.chance(650_000) && !leaves.is_empty() {
                    return random.pick(&leaves).cloned();
                }
                Some(number(small(random)))
            }
            Sort::Number => match random.below(6) {
                0 => {
                    let condition = grown(Sort::Bool, random)?;
                    Some(Expr::Call(
                        Op::If,
                        vec![condition, grown(Sort::Number, random)?, grown(Sort::Number, random)?],
                    ))
                }
                1 => Some(Expr::Call(Op::Abs, vec![grown(Sort::Number, random)?])),
                2 => Some(Expr::Call(Op::Div, vec![grown(Sort::Number, random)?, number(random.between(2, 12))])),
                _ => {
                    let op = *random.pick(&NUMBERS[..3])?;
                    Some(Expr::Call(op, vec![grown(Sort::Number, random)?, grown(Sort::Number, random)?]))
                }
            },
            Sort::Bool if depth > 1 && random.chance(200_000) => {
                let op = if random.chance(500_000) { Op::And } else { Op::Or };
                Some(Expr::Call(op, vec![grown(Sort::Bool, random)?, grown(Sort::Bool, random)?]))
            }
            Sort::Bool => {
                if !self.leaves(Sort::Text).is_empty() && random.chance(500_000) {
                    let op = *random.pick(&PARTS)?;
                    return Some(Expr::Call(op, vec![grown(Sort::Text, random)?, common(random)?]));
                }
                let op = *random.pick(&ORDERS)?;
                Some(Expr::Call(op, vec![grown(Sort::Number, random)?, grown(Sort::Number, random)?]))
            }
            Sort::Text if depth == 0 || random.chance(400_000) => {
                let leaves = self.leaves(Sort::Text);
                if random.chance(850_000) && !leaves.is_empty() {
                    return random.pick(&leaves).cloned();
                }
                common(random)
            }
            Sort::Text => match random.below(3) {
                0 => Some(Expr::Call(*random.pick(&SIDES)?, vec![grown(Sort::Text, random)?, common(random)?])),
                1 => Some(Expr::Call(Op::Concat, vec![grown(Sort::Text, random)?, grown(Sort::Text, random)?])),
                _ => Some(Expr::Call(*random.pick(&TEXTS)?, vec![grown(Sort::Text, random)?])),
            },
            Sort::List if depth == 0 || random.chance(500_000) => random.pick(&self.leaves(Sort::List)).cloned(),
            Sort::List => Some(Expr::Call(*random.pick(&LISTS)?, vec![grown(Sort::List, random)?])),
            Sort::Other => random.pick(&self.leaves(Sort::Other)).cloned(),
        }
    }

    /// A node with another value, or another operator of its kind.
    fn tuned(&self, here: &Expr, random: &mut Random) -> Option<Expr> {
        match here {
            Expr::Literal(Value::Text(text)) => Some(Expr::Literal(Value::Text(retold(text, random)?))),
            Expr::Literal(Value::List(items)) => Some(Expr::Literal(Value::List(rearranged(items, random)?))),
            Expr::List(items) => Some(Expr::List(rearranged(items, random)?)),
            Expr::Literal(value) => {
                let now = value.as_i64()?;
                let next = match random.below(4) {
                    0 => now + 1,
                    1 => now - 1,
                    2 => now.checked_mul(2)?,
                    _ => now + random.between(-10, 10),
                };
                Some(number(next))
            }
            Expr::Call(op, arguments) => {
                let kinds = [&NUMBERS[..], &ORDERS, &[Op::And, Op::Or], &TEXTS, &PARTS, &SIDES, &LISTS, &CUTS, &ITEMS];
                let kind = kinds.into_iter().find(|ops| ops.contains(op))?;
                Some(Expr::Call(*random.pick(kind)?, arguments.clone()))
            }
            Expr::Field(..) | Expr::Input => random.pick(&self.leaves(self.sort(here))).cloned(),
            _ => None,
        }
    }

    /// Something else in its place, or it as a part of something.
    fn rebuilt(&self, here: &Expr, random: &mut Random) -> Option<Expr> {
        let sort = self.sort(here);
        match (random.below(3), sort) {
            (_, Sort::Other) => None,
            (0, Sort::Number) => {
                let op = *random.pick(&NUMBERS[..3])?;
                Some(Expr::Call(op, vec![here.clone(), self.grow(Sort::Number, 1, random)?]))
            }
            (1, Sort::Number) => {
                let condition = self.grow(Sort::Bool, 2, random)?;
                let mut sides = vec![here.clone(), self.grow(Sort::Number, 2, random)?];
                random.shuffle(&mut sides);
                sides.insert(0, condition);
                Some(Expr::Call(Op::If, sides))
            }
            (0, Sort::Text) => Some(Expr::Call(*random.pick(&TEXTS)?, vec![here.clone()])),
            (1, Sort::Text) => {
                let mut sides = vec![here.clone(), self.grow(Sort::Text, 1, random)?];
                random.shuffle(&mut sides);
                Some(Expr::Call(Op::Concat, sides))
            }
            (0, Sort::List) => Some(Expr::Call(*random.pick(&LISTS)?, vec![here.clone()])),
            (1, Sort::List) => Some(Expr::Call(*random.pick(&CUTS)?, vec![here.clone(), number(random.between(1, 3))])),
            _ => self.grow(sort, 2, random),
        }
    }
}

/// A text that means something in many others.
fn common(random: &mut Random) -> Option<Expr> {
    random.pick(&COMMON).map(|text| Expr::Literal((*text).into()))
}

/// Another text near it.
fn retold(text: &str, random: &mut Random) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    Some(match random.below(5) {
        0 => text.to_lowercase(),
        1 if words.len() > 1 => {
            let gone = random.below(words.len());
            let kept = words.iter().enumerate().filter(|(at, _)| *at != gone);
            kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
        }
        1 | 2 => {
            let mut characters = text.chars();
            characters.next_back()?;
            characters.as_str().to_owned()
        }
        3 => {
            let mut characters = text.chars();
            characters.next()?;
            characters.as_str().to_owned()
        }
        _ => format!("{text}{}", random.pick(&COMMON)?),
    })
}

/// The same items but for one that is gone, there twice, or elsewhere.
fn rearranged<T: Clone>(items: &[T], random: &mut Random) -> Option<Vec<T>> {
    let mut items = items.to_vec();
    let at = random.below(items.len().max(1));
    let item = items.get(at)?.clone();
    match random.below(3) {
        0 => drop(items.remove(at)),
        1 => items.insert(at, item),
        _ => {
            items.remove(at);
            items.insert(random.below(items.len() + 1), item);
        }
    }
    Some(items)
}

fn sort_of_type(ty: &Type) -> Sort {
    match ty {
        Type::Int | Type::Number => Sort::Number,
        Type::Bool => Sort::Bool,
        Type::Text => Sort::Text,
        Type::List(_) => Sort::List,
        _ => Sort::Other,
    }
}

fn number(value: i64) -> Expr {
    Expr::Literal(Value::integer(value))
}

/// Small numbers are more likely to mean something.
fn small(random: &mut Random) -> i64 {
    match random.below(3) {
        0 => random.between(0, 3),
        1 => random.between(-10, 20),
        _ => random.between(-100, 200),
    }
}

/// The node of that number, in the order in which they are written.
fn node(program: &Expr, at: usize) -> Option<&Expr> {
    if at == 0 {
        return Some(program);
    }
    let mut left = at - 1;
    for child in program.children() {
        let size = child.size();
        if left < size {
            return node(child, left);
        }
        left -= size;
    }
    None
}

/// The same with another node there.
fn replaced(program: &Expr, at: usize, other: &Expr) -> Expr {
    if at == 0 {
        return other.clone();
    }
    let mut left = Some(at - 1);
    let mut child = |child: &Expr| {
        let size = child.size();
        match left {
            Some(place) if place < size => {
                left = None;
                replaced(child, place, other)
            }
            _ => {
                left = left.map(|place| place - size);
                child.clone()
            }
        }
    };
    match program {
        Expr::Input | Expr::Variable(_) | Expr::Literal(_) => program.clone(),
        Expr::Field(inner, name) => Expr::Field(Box::new(child(inner)), name.clone()),
        Expr::List(items) => Expr::List(items.iter().map(child).collect()),
        Expr::Record(members) => Expr::Record(members.iter().map(|(name, item)| (name.clone(), child(item))).collect()),
        Expr::Call(op, arguments) => Expr::Call(*op, arguments.iter().map(child).collect()),
        Expr::Each { each, list, variable, body } => {
            let list = Box::new(child(list));
            Expr::Each { each: *each, list, variable: variable.clone(), body: Box::new(child(body)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface() -> Interface {
        Interface { input: "record{item: int, left: int}".parse().unwrap(), output: Type::Int, most: 40 }
    }

    #[test]
    fn whatever_is_made_of_programs_is_of_the_interface() {
        let interface = interface();
        let mut random = Random::of(5, "programs");
        let mut now = interface.read("sub(0, $.left)").unwrap();
        let mut kinds = [0_u32; 4];
        for round in 0..2_000 {
            let drawn = interface.draw(&mut random).unwrap();
            let kind = round % 4;
            let made = match kind {
                0 => interface.mix(&now, &drawn, &mut random),
                1 => interface.simplify(&now, &mut random),
                _ => interface.change(&now, kind == 2, &mut random),
            };
            if let Some(made) = made {
                interface.read(&made.to_string()).unwrap_or_else(|why| panic!("{made}: {why}"));
                assert!(kind != 1 || made.size() < now.size());
                kinds[kind] += 1;
                now = made;
            }
            if now.size() > 30 || now.size() < 3 {
                now = drawn;
            }
        }
        assert!(kinds.iter().all(|count| *count > 200), "{kinds:?}");
    }

    #[test]
    fn texts_and_lists_of_a_program_are_changed_too_and_keep_its_types() {
        let interface = Interface {
            input: "record{line: text, tags: list<text>}".parse().unwrap(),
            output: "record{kind: text, tags: list<text>}".parse().unwrap(),
            most: 40,
        };
        let base = interface.read(r#"{"kind": before(lower($.line), "ab cd"), "tags": take($.tags, 2)}"#).unwrap();
        let mut random = Random::of(7, "texts and lists");
        let made: Vec<String> = (0..400)
            .filter_map(|round| interface.change(&base, round % 2 == 0, &mut random))
            .map(|made| interface.read(&made.to_string()).map(|made| made.to_string()).unwrap())
            .collect();
        for part in ["\"ab\"", "\"b cd\"", "after(lower", "upper($.line)", "drop($.tags", "reverse(", "concat("] {
            assert!(made.iter().any(|made| made.contains(part)), "{part}: {made:?}");
        }
        let literal = interface.read(r#"{"kind": $.line, "tags": ["x", "y", "z"]}"#).unwrap();
        let made: Vec<String> = (0..200)
            .filter_map(|_| interface.change(&literal, false, &mut random))
            .map(|made| made.to_string().replace(' ', ""))
            .collect();
        for part in ["[\"x\",\"z\"]", "[\"y\",\"x\",\"z\"]", "[\"x\",\"y\",\"y\",\"z\"]"] {
            assert!(made.iter().any(|made| made.contains(part)), "{part}: {made:?}");
        }
        let text = Interface { input: Type::Text, output: Type::Text, most: 40 };
        let other = text.read("upper($)").unwrap();
        let drawn = text.draw(&mut random).unwrap();
        assert!((0..40).any(|_| text.mix(&other, &drawn, &mut random).is_some()));
    }

    #[test]
    fn a_program_of_other_types_or_too_large_is_refused() {
        let interface = interface();
        for text in ["lower($.item)", "$.weight", "lt($.item, 1)", "add(", "$"] {
            assert!(interface.read(text).is_err(), "{text}");
        }
        let large = (0..20).fold("$.item".to_owned(), |text, _| format!("add({text}, 1)"));
        assert!(interface.read(&large).unwrap_err().contains("at most 40"));
    }

    #[test]
    fn nodes_are_numbered_as_they_are_written() {
        let program = parse("if(lt($.item, 3), add($.left, 1), 0)").unwrap();
        let texts: Vec<String> = (0..program.size()).map(|at| node(&program, at).unwrap().to_string()).collect();
        assert_eq!(texts[1..4], ["lt($.item, 3)", "$.item", "$"]);
        for at in 0..program.size() {
            let made = replaced(&program, at, &number(77));
            assert_eq!(node(&made, at), Some(&number(77)), "{at}");
        }
        assert_eq!(node(&program, program.size()), None);
    }
}
