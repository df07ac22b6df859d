//! Lambdas: loops in place.

use auto_lang::{Each, Expr};
use wasm_encoder::Instruction;

use super::names::with_keys;
use super::{Bound, Compiler};
use crate::access::within;
use crate::code::{Label, Local};
use crate::constants::{KIND, LENGTH, LIST, NODE, POINTER};

impl<'a> Compiler<'a> {
    /// Sets locals to a list's first item, to its end, and to room for as many items.
    fn bounds(&mut self, list: Local, [first, end, room]: [Local; 3], undefined: Label) {
        self.body.get(list);
        self.body.load(KIND);
        self.body.constant(LIST);
        self.body.op(Instruction::I32Ne);
        self.body.branch_if(undefined);
        self.body.get(list);
        self.body.load(POINTER);
        self.body.set(first);
        self.body.get(list);
        self.body.load(LENGTH);
        self.body.constant(NODE);
        self.body.op(Instruction::I32Mul);
        self.body.tee(end);
        self.body.runtime("rt_allocate");
        self.body.set(room);
        self.body.get(end);
        self.body.get(first);
        self.body.op(Instruction::I32Add);
        self.body.set(end);
    }

    pub(super) fn each(&mut self, each: Each, list: &'a Expr, variable: &'a str, body: &'a Expr) {
        let item_type = self.type_of(list).and_then(|ty| within(ty, None));
        self.partial(|this, undefined| {
            let list = this.defined(list, undefined);
            let [item, end, array, place] = [(); 4].map(|()| this.body.scratch());
            this.bounds(list, [item, end, array], undefined);
            this.body.get(array);
            this.body.set(place);

            let done = this.body.block();
            let next = this.body.repeat();
            this.body.get(item);
            this.body.get(end);
            this.body.op(Instruction::I32Eq);
            this.body.branch_if(done);
            this.scope.push(Bound { name: variable, local: item, ty: item_type });
            match each {
                Each::Map | Each::SortBy | Each::GroupBy => {
                    let value = this.defined(body, undefined);
                    this.body.copy_node(value, place, 0);
                    this.body.release(value);
                    this.body.advance(place, NODE);
                }
                Each::Filter => {
                    let truth = this.truth(body);
                    this.body.get(truth);
                    this.body.branch_unless(undefined);
                    this.body.get(truth);
                    this.body.constant(2);
                    this.body.op(Instruction::I32Eq);
                    this.body.when();
                    this.body.copy_node(item, place, 0);
                    this.body.advance(place, NODE);
                    this.body.end();
                    this.body.release(truth);
                }
            }
            this.scope.pop();
            this.body.advance(item, NODE);
            this.body.branch(next);
            this.body.end();
            this.body.end();

            this.body.get(array);
            this.body.get(place);
            this.body.get(array);
            this.body.op(Instruction::I32Sub);
            this.body.constant(NODE);
            this.body.op(Instruction::I32DivU);
            this.body.runtime("rt_list");
            if let Some(name) = with_keys(each) {
                this.body.set(place);
                this.body.get(list);
                this.body.get(place);
                this.body.runtime(name);
            }
            for local in [list, item, end, array, place] {
                this.body.release(local);
            }
        });
    }
}
