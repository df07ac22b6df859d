//! Answers: written text after text, and never made as values.

use auto_json::Value;
use auto_lang::{Expr, MAX_TEXT, Op};
use auto_schema::types::Type;
use wasm_encoder::{Instruction, ValType};

use super::{Compiler, reads};
use crate::code::{Body, Label, Local};
use crate::constants::LENGTH;

/// A part of an answer.
enum Piece {
    /// Text that is known.
    Json(String),
    /// A value, and the runtime function that writes it.
    Value(Local, &'static str),
}

impl Piece {
    fn json(pieces: &mut Vec<Piece>, text: &str) {
        match pieces.last_mut() {
            Some(Piece::Json(json)) => json.push_str(text),
            _ => pieces.push(Piece::Json(text.to_owned())),
        }
    }
}

impl<'a> Compiler<'a> {
    /// Pushes the result of `run` that answers with a value. Records and lists that the
    /// program makes are written as they stand and never made: first all that is in them is
    /// evaluated, then text after text is written.
    pub(super) fn answer(&mut self, expression: &'a Expr) {
        self.partial(|this, undefined| {
            let mut pieces = Vec::new();
            this.pieces(expression, undefined, &mut pieces);
            match pieces.as_slice() {
                [Piece::Json(json)] => {
                    this.body.bytes(this.constants, json.as_bytes());
                    return this.body.runtime("rt_answer_json");
                }
                [Piece::Value(value, "rt_write_text")] => {
                    this.body.get(*value);
                    return this.body.runtime("rt_answer_text");
                }
                [Piece::Value(value, "rt_write_value")] => {
                    this.body.get(*value);
                    return this.body.runtime("rt_answer");
                }
                _ => {}
            }
            this.body.runtime("rt_write_begin");
            for piece in &pieces {
                match piece {
                    Piece::Json(json) => {
                        this.body.bytes(this.constants, json.as_bytes());
                        this.body.runtime("rt_write_json");
                    }
                    Piece::Value(value, writer) => {
                        this.body.get(*value);
                        this.body.runtime(writer);
                    }
                }
            }
            this.body.runtime("rt_write_answer");
        });
    }

    /// Evaluates the parts of an answer, and lists what is to be written.
    fn pieces(&mut self, expression: &'a Expr, undefined: Label, pieces: &mut Vec<Piece>) {
        match expression {
            Expr::Literal(value) => Piece::json(pieces, value.canonical().as_str()),
            Expr::List(items) => {
                Piece::json(pieces, "[");
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        Piece::json(pieces, ",");
                    }
                    self.pieces(item, undefined, pieces);
                }
                Piece::json(pieces, "]");
            }
            Expr::Record(members) => {
                Piece::json(pieces, "{");
                for (index, (key, item)) in members.iter().enumerate() {
                    let key = Value::from(key.as_str());
                    Piece::json(pieces, &format!("{}{key}:", if index > 0 { "," } else { "" }));
                    self.pieces(item, undefined, pieces);
                }
                Piece::json(pieces, "}");
            }
            Expr::Call(Op::Concat, parts) if self.is_text_of_parts(expression, parts) => {
                Piece::json(pieces, "\"");
                let length = self.body.local_of(ValType::I64);
                self.parts(parts, length, undefined, pieces);
                self.body.get(length);
                self.body.op(Instruction::I64Const(MAX_TEXT as i64));
                self.body.op(Instruction::I64GtU);
                self.body.branch_if(undefined);
                Piece::json(pieces, "\"");
            }
            other => {
                let writer = if self.is_text(other) { "rt_write_text" } else { "rt_write_value" };
                let value = self.defined(other, undefined);
                pieces.push(Piece::Value(value, writer));
            }
        }
    }

    /// Evaluates the parts of a text, adds up their bytes, and lists what is to be written.
    fn parts(&mut self, parts: &'a [Expr], length: Local, undefined: Label, pieces: &mut Vec<Piece>) {
        for part in parts {
            match part {
                Expr::Call(Op::Concat, parts) => self.parts(parts, length, undefined, pieces),
                Expr::Literal(Value::Text(text)) => {
                    let json = Value::from(text.as_str()).canonical().into_string();
                    Piece::json(pieces, &json[1..json.len() - 1]);
                    self.add_up(length, |body| body.op(Instruction::I64Const(text.len() as i64)));
                }
                other => {
                    let value = self.defined(other, undefined);
                    self.add_up(length, |body| {
                        body.get(value);
                        body.load(LENGTH);
                        body.op(Instruction::I64ExtendI32U);
                    });
                    pieces.push(Piece::Value(value, "rt_write_part"));
                }
            }
        }
    }

    fn add_up(&mut self, length: Local, push: impl FnOnce(&mut Body)) {
        self.body.get(length);
        push(&mut self.body);
        self.body.op(Instruction::I64Add);
        self.body.set(length);
    }

    /// Whether a `concat` can be written part by part: it is not kept for another place, nor known
    /// now, and all its parts are texts.
    fn is_text_of_parts(&self, whole: &Expr, parts: &[Expr]) -> bool {
        !self.kept.contains_key(whole)
            && reads(whole).input
            && parts.iter().all(|part| match part {
                Expr::Call(Op::Concat, parts) => self.is_text_of_parts(part, parts),
                other => self.is_text(other),
            })
    }

    /// Whether every value of an expression is a text.
    fn is_text(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Literal(value) => value.as_text().is_some(),
            Expr::Call(Op::If, parts) => parts.iter().skip(1).all(|part| self.is_text(part)),
            Expr::Call(Op::Default, parts) => parts.iter().all(|part| self.is_text(part)),
            Expr::Call(op, _) => op.info().types.ends_with("-> text"),
            Expr::Input | Expr::Field(..) => {
                matches!(self.type_of(expression), Some(Type::Text | Type::Bytes | Type::Enum(_)))
                    && self.is_present(expression)
            }
            _ => false,
        }
    }
}
