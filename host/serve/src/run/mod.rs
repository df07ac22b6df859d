//! Artifacts as a service: `/run/NAME` answers an input with the artifact of that name, and where
//! that has no answer, with who stands behind it.
//!
//! | module | |
//! |---|---|
//! | [`shelf`] | where artifacts come from |
//! | [`catalog`] | what is served now |
//! | [`app`] | an input through the tiers |
//! | [`backing`] | who stands behind artifacts |
//! | [`caller`] | who asks, and what they may |
//! | [`drift`] | whether artifacts still say what tier 0 says |

pub mod app;
pub mod backing;
pub mod caller;
pub mod catalog;
pub mod counts;
mod curve;
pub mod drift;
pub mod events;
mod metrics;
mod openapi;
mod pace;
mod page;
mod pool;
mod reply;
mod routes;
pub mod shelf;
pub mod spans;
mod state;

use std::sync::Arc;

use app::App;

use crate::http::{Ended, Listener, Stop};

/// Serves until it is asked to stop. Names are looked at again as often as the settings say.
pub async fn serve(app: Arc<App>, listener: Listener, stop: &Stop) -> Ended {
    let looking = tokio::spawn(look(app.clone(), stop.clone()));
    if let Some(spans) = &app.settings.spans {
        spans.start();
    }
    let (bounds, traffic) = (app.settings.bounds.clone(), app.traffic.clone());
    let ended = listener.serve_counted(routes::routes(app.clone()), bounds, stop, traffic).await;
    looking.abort();
    if let Some(spans) = &app.settings.spans {
        spans.flush().await;
    }
    ended
}

/// Looks at the registry again and again, on a thread where that may take its time.
async fn look(app: Arc<App>, stop: Stop) {
    while !stop.is_asked() {
        tokio::time::sleep(app.settings.reload).await;
        let app = app.clone();
        // It says itself what went wrong.
        let _ = tokio::task::spawn_blocking(move || app.reload()).await;
    }
}
