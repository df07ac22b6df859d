//! The stack of components that provide interfaces: the topmost that exports one serves
//! it, and what that one imports is served from underneath it.

use std::sync::Arc;

use auto_schema::digest::{Digest, Hasher};

use crate::name::InterfaceName;
use crate::pass::Pass;

/// A stack of components. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Providers {
    stack: Arc<Vec<Arc<Pass>>>,
    /// How much of the stack counts; less than all of it for what lies under a provider.
    height: usize,
}

/// Who serves an interface.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The component.
    pub pass: Arc<Pass>,
    /// The name it exports the interface under: the one asked for, or a compatible newer
    /// version of it.
    pub interface: InterfaceName,
    /// What serves its own imports.
    pub below: Providers,
}

impl Providers {
    /// An empty stack.
    pub fn new() -> Providers {
        Providers::default()
    }

    /// Puts a component on top.
    pub fn push(&mut self, pass: Arc<Pass>) {
        let stack = Arc::make_mut(&mut self.stack);
        stack.truncate(self.height);
        stack.push(pass);
        self.height += 1;
    }

    /// Who serves an interface, named with its version.
    pub fn resolve(&self, interface: &str) -> Option<Provider> {
        self.provider(&InterfaceName::parse(interface)?)
    }

    /// The components, the topmost first.
    pub fn list(&self) -> impl Iterator<Item = &Arc<Pass>> {
        self.stack[..self.height].iter().rev()
    }

    pub(crate) fn provider(&self, wanted: &InterfaceName) -> Option<Provider> {
        self.all(wanted).next()
    }

    /// Everybody who could serve an interface, the topmost first.
    pub(crate) fn all<'a>(&'a self, wanted: &'a InterfaceName) -> impl Iterator<Item = Provider> + 'a {
        self.stack[..self.height].iter().enumerate().rev().filter_map(move |(at, pass)| {
            let (interface, _) = pass.offer(wanted)?;
            let below = Providers { stack: self.stack.clone(), height: at };
            Some(Provider { pass: pass.clone(), interface: interface.clone(), below })
        })
    }

    /// The same interface in a version that does not serve, for messages.
    pub(crate) fn other_version(&self, wanted: &InterfaceName) -> Option<(&Arc<Pass>, &InterfaceName)> {
        self.list().find_map(|pass| {
            let name = pass.offers.keys().find(|own| own.same_interface(wanted))?;
            Some((pass, name))
        })
    }
}

impl Provider {
    /// Whether it, or what serves it, imports what only a driver's job lends. Its results are
    /// then not of its arguments alone.
    pub(crate) fn needs_services(&self) -> bool {
        let served = |(name, _)| self.below.provider(name).is_some_and(|provider| provider.needs_services());
        self.pass.needs_services() || self.pass.component_needs().any(served)
    }

    /// The digest of the component and of all that serves it: two providers of the same
    /// identity give the same results.
    pub(crate) fn identity(&self) -> Digest {
        let mut needs = self.pass.component_needs().peekable();
        if needs.peek().is_none() {
            return self.pass.digest;
        }
        let mut hasher = Hasher::new();
        hasher.update("auto-chain-1\n");
        hasher.update(self.pass.digest.as_bytes());
        for (name, _) in needs {
            hasher.update(format!("{name}\n"));
            match self.below.provider(name) {
                Some(provider) => hasher.update(provider.identity().as_bytes()),
                None => hasher.update([0; 32]),
            }
        }
        hasher.finish()
    }
}
