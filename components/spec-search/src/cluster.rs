//! What an agent fails at: clusters that a teacher names, with rates that are measured and not
//! taken from it, and the map from tasks to clusters that the gate goes by.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Fields;
use crate::Refusal;
use crate::amount::{ONE, decimal};
use crate::gate::REST;
use crate::reply;
use crate::spec::is_name;

const CODE: &str = "bad-cluster";

/// The most clusters of a diagnosis.
pub const MOST: usize = 5;

/// The fewest runs on each side before a rate says anything.
pub const FEWEST_RUNS: u32 = 3;

/// How alike a task and a sample have to be, in parts per million of their trigrams.
const ALIKE: u64 = 300_000;

/// A task that scores less than this counts as failed, in millionths.
pub const PASSED: i64 = 500_000;

/// A cluster as the teacher named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// A name.
    pub id: String,
    /// What goes wrong.
    pub description: String,
    /// The declared category of its tasks, where it has one.
    pub category: Option<String>,
    /// Tasks for diagnosis that belong to it.
    pub task_ids: Vec<String>,
    /// Traces that show it.
    pub sample_trace_ids: Vec<String>,
    /// What the agent lacks, in prose.
    pub skill_gap: String,
}

/// What was counted of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Runs of the student, and how many failed.
    pub student: (u32, u32),
    /// Runs of the teacher, and how many went well.
    pub teacher: (u32, u32),
    /// The tasks that each did.
    pub tasks: (Vec<String>, Vec<String>),
}

/// What there is to point at.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Tasks for diagnosis.
    pub tasks: BTreeSet<String>,
    /// Traces that were shown.
    pub traces: BTreeSet<String>,
}

/// The clusters of a reply, and those that were not taken, with the reason for each. An empty list
/// is a diagnosis, too: nothing to do.
///
/// Codes: those of [`reply::list`]. Of single clusters: `bad-cluster`, `rate-out-of-range`,
/// `unknown-task`, `unknown-trace`, `duplicate-cluster`, `no-samples`, `too-many-clusters`.
pub fn read(text: &str, known: &Known) -> Result<(Vec<Cluster>, Vec<Refusal>), Refusal> {
    let (mut clusters, mut refused): (Vec<Cluster>, Vec<Refusal>) = (Vec::new(), Vec::new());
    for (at, value) in reply::list(text)?.iter().enumerate() {
        let place = format!("/{at}");
        match one(value, &place, at, known) {
            Ok(cluster) if clusters.iter().any(|earlier| earlier.id == cluster.id) => {
                let message = format!("a second cluster is called {}", cluster.id);
                refused.push(Refusal::new("duplicate-cluster", message).at(place));
            }
            Ok(_) if clusters.len() == MOST => {
                let message = format!("{MOST} clusters are the most");
                refused.push(Refusal::new("too-many-clusters", message).at(place));
            }
            Ok(cluster) => clusters.push(cluster),
            Err(refusal) => refused.push(refusal),
        }
    }
    Ok((clusters, refused))
}

fn one(value: &Value, place: &str, at: usize, known: &Known) -> Result<Cluster, Refusal> {
    let fields = Fields::of(value, place, CODE)?;
    fields.only(&[
        "id",
        "description",
        "category",
        "task_ids",
        "sample_trace_ids",
        "student_failure_rate",
        "teacher_success_rate",
        "skill_gap",
        "addressed_by_edit_ids",
    ])?;
    // Rates are measured here; one that cannot be one tells of a teacher that guesses.
    for key in ["student_failure_rate", "teacher_success_rate"] {
        let Some(claimed) = fields.get(key) else { continue };
        let inside =
            claimed.as_number().and_then(crate::amount::truncated).is_some_and(|rate| (0..=ONE).contains(&rate));
        if !inside {
            let message = format!("{claimed} is no share: from 0 to 1");
            return Err(Refusal::new("rate-out-of-range", message).at(fields.place_of(key)));
        }
    }
    let id = fields.text("id")?.map_or_else(|| format!("c{}", at + 1), str::to_owned);
    if !is_name(&id) || id == REST {
        return Err(fields.refuse("id", format!("{id:?} is no name of a cluster")));
    }
    let ids = |key: &str, there: &BTreeSet<String>, code| {
        let ids = fields.texts(key)?.unwrap_or_default();
        match ids.iter().find(|id| !there.contains(*id)) {
            None => Ok(ids),
            Some(id) => Err(Refusal::new(code, format!("{id:?} was not shown")).at(fields.place_of(key))),
        }
    };
    let cluster = Cluster {
        id,
        description: fields.need_text("description")?.to_owned(),
        category: fields.text("category")?.map(str::to_owned),
        task_ids: ids("task_ids", &known.tasks, "unknown-task")?,
        sample_trace_ids: ids("sample_trace_ids", &known.traces, "unknown-trace")?,
        skill_gap: fields.text("skill_gap")?.unwrap_or_default().to_owned(),
    };
    if cluster.task_ids.is_empty() && cluster.sample_trace_ids.is_empty() && cluster.category.is_none() {
        let message = "it names no task, no trace and no category: nothing shows it";
        return Err(Refusal::new("no-samples", message).at(place));
    }
    Ok(cluster)
}

impl Cluster {
    /// As it is kept, with what was measured.
    pub fn to_value(&self, rates: &Rates) -> Value {
        let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<Value>>();
        Record::new()
            .with("id", self.id.as_str())
            .with("description", self.description.as_str())
            .with("category", self.category.as_deref())
            .with("task_ids", texts(&self.task_ids))
            .with("sample_trace_ids", texts(&self.sample_trace_ids))
            .with("skill_gap", self.skill_gap.as_str())
            .with("student_runs", texts(&rates.tasks.0))
            .with("teacher_runs", texts(&rates.tasks.1))
            .with("n_student", rates.student.0)
            .with("student_failure_rate", rates.failure().map(decimal))
            .with("n_teacher", rates.teacher.0)
            .with("teacher_success_rate", rates.success().map(decimal))
            .with("headroom", rates.headroom().map(decimal))
            .into()
    }
}

impl Rates {
    /// Counts a run of the student.
    pub fn of_student(&mut self, task: &str, failed: bool) {
        self.student = (self.student.0 + 1, self.student.1 + u32::from(failed));
        self.tasks.0.push(task.to_owned());
    }

    /// Counts a run of the teacher.
    pub fn of_teacher(&mut self, task: &str, right: bool) {
        self.teacher = (self.teacher.0 + 1, self.teacher.1 + u32::from(right));
        self.tasks.1.push(task.to_owned());
    }

    /// The share of the student's runs that failed, in millionths.
    pub fn failure(&self) -> Option<i64> {
        share(self.student)
    }

    /// The share of the teacher's runs that went well.
    pub fn success(&self) -> Option<i64> {
        share(self.teacher)
    }

    /// How much better the teacher does.
    pub fn headroom(&self) -> Option<i64> {
        Some(self.success()? - (ONE - self.failure()?))
    }

    /// Why nothing can be done about it; none where something can.
    pub fn why_not(&self) -> Option<&'static str> {
        match self.headroom() {
            _ if self.student.0 < FEWEST_RUNS || self.teacher.0 < FEWEST_RUNS => Some("unbacked"),
            Some(headroom) if headroom > 0 => None,
            _ => Some("no-headroom"),
        }
    }
}

fn share((all, some): (u32, u32)) -> Option<i64> {
    (i64::from(some) * ONE).checked_div(i64::from(all))
}

/// Clusters in the order of what there is to win: headroom times the share of all failures.
pub fn ranked(clusters: Vec<(Cluster, Rates)>) -> Vec<(Cluster, Rates)> {
    let mut clusters = clusters;
    let worth = |rates: &Rates| i128::from(rates.headroom().unwrap_or(0)) * i128::from(rates.student.1);
    clusters.sort_by(|(a, of_a), (b, of_b)| worth(of_b).cmp(&worth(of_a)).then_with(|| a.id.cmp(&b.id)));
    clusters
}

/// Which cluster a task belongs to: by its declared category, else by the sample it is most alike,
/// else none ([`REST`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment(pub BTreeMap<String, String>);

/// A task as far as it is assigned.
pub struct Assigned<'t> {
    /// Its id.
    pub id: &'t str,
    /// Its declared category.
    pub category: Option<&'t str>,
    /// What it asks.
    pub query: &'t str,
}

/// Makes the map. `samples` are what the traces and tasks of each cluster ask.
pub fn assign(tasks: &[Assigned<'_>], clusters: &[Cluster], samples: &BTreeMap<String, Vec<String>>) -> Assignment {
    let trigrams: Vec<(&str, Vec<BTreeSet<[char; 3]>>)> = clusters
        .iter()
        .map(|cluster| {
            let own = samples.get(&cluster.id).map(Vec::as_slice).unwrap_or_default();
            (cluster.id.as_str(), own.iter().map(|text| of_text(text)).collect())
        })
        .collect();
    let of = |task: &Assigned<'_>| {
        let declared = clusters.iter().find(|one| task.category.is_some() && one.category.as_deref() == task.category);
        if let Some(cluster) = declared {
            return cluster.id.clone();
        }
        if clusters.iter().any(|cluster| cluster.task_ids.iter().any(|id| id == task.id)) {
            let own = clusters.iter().find(|cluster| cluster.task_ids.iter().any(|id| id == task.id));
            return own.map(|cluster| cluster.id.clone()).unwrap_or_default();
        }
        let own = of_text(task.query);
        let alike = trigrams.iter().flat_map(|(id, samples)| samples.iter().map(|sample| (jaccard(&own, sample), *id)));
        // The first of the most alike.
        let best = alike.fold((0, REST), |best, one| if one.0 > best.0 { one } else { best });
        if best.0 >= ALIKE { best.1.to_owned() } else { REST.to_owned() }
    };
    Assignment(tasks.iter().map(|task| (task.id.to_owned(), of(task))).collect())
}

impl Assignment {
    /// The cluster of a task.
    pub fn of(&self, task: &str) -> &str {
        self.0.get(task).map_or(REST, String::as_str)
    }

    /// The digest of the whole map, which is part of what a sample is.
    pub fn digest(&self) -> Digest {
        let record: Record = self.0.iter().map(|(task, id)| (task.clone(), Value::from(id.as_str()))).collect();
        Digest::of(Value::from(record).canonical().as_str().as_bytes())
    }
}

fn of_text(text: &str) -> BTreeSet<[char; 3]> {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    letters.windows(3).map(|three| [three[0], three[1], three[2]]).collect()
}

/// Parts per million.
fn jaccard(a: &BTreeSet<[char; 3]>, b: &BTreeSet<[char; 3]>) -> u64 {
    let both = a.intersection(b).count() as u64;
    let either = (a.len() + b.len()) as u64 - both;
    (both * 1_000_000).checked_div(either).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let set = |ids: [&str; 3]| ids.into_iter().map(str::to_owned).collect();
        Known { tasks: set(["d1", "d2", "d3"]), traces: set(["t1", "t2", "t3"]) }
    }

    #[test]
    fn good_clusters_are_taken_and_each_bad_one_is_told() {
        let reply = r#"[{"description":"dates","task_ids":["d1"],"student_failure_rate":0.75},
            {"description":"x","task_ids":["d1"],"teacher_success_rate":1.5},
            {"description":"x","task_ids":["g1"]}, {"description":"x","sample_trace_ids":["t9"]},
            {"id":"../x","description":"x","task_ids":["d1"]}, {"id":"c1","description":"x","task_ids":["d1"]},
            {"description":"x"}, {"description":"x","task_ids":["d2"],"severity":3},
            {"task_ids":["d2"]}, {"id":"_rest","description":"x","task_ids":["d1"]}]"#;
        let (clusters, refused) = read(reply, &known()).expect("read");
        assert_eq!(clusters.iter().map(|cluster| cluster.id.as_str()).collect::<Vec<_>>(), ["c1"]);
        let codes: Vec<&str> = refused.iter().map(|refusal| refusal.code).collect();
        assert_eq!(
            codes,
            [
                "rate-out-of-range",
                "unknown-task",
                "unknown-trace",
                "bad-cluster",
                "duplicate-cluster",
                "no-samples",
                "bad-cluster",
                "bad-cluster",
                "bad-cluster"
            ]
        );
        let many: Vec<String> = (0..7).map(|_| r#"{"description":"x","category":"k"}"#.to_owned()).collect();
        let (clusters, refused) = read(&format!("[{}]", many.join(",")), &known()).expect("read");
        assert_eq!((clusters.len(), refused[0].code, refused.len()), (MOST, "too-many-clusters", 2));
        assert_eq!(read("[]", &known()), Ok((vec![], vec![])), "nothing to do is no failure");
    }

    #[test]
    fn a_cluster_is_acted_on_where_runs_on_both_sides_show_that_the_teacher_does_better() {
        let why = |student, teacher| Rates { student, teacher, ..Rates::default() }.why_not();
        assert_eq!(why((3, 2), (3, 3)), None);
        assert_eq!(why((2, 2), (3, 3)), Some("unbacked"));
        assert_eq!(why((3, 3), (0, 0)), Some("unbacked"));
        assert_eq!(why((3, 2), (3, 1)), Some("no-headroom"), "as good as the student");
        assert_eq!(Rates { student: (4, 3), teacher: (4, 4), ..Rates::default() }.headroom(), Some(750_000));
    }

    #[test]
    fn what_there_is_most_to_win_at_comes_first() {
        let cluster = |id: &str| Cluster {
            id: id.to_owned(),
            description: String::new(),
            category: None,
            task_ids: vec![],
            sample_trace_ids: vec![],
            skill_gap: String::new(),
        };
        let small = Rates { student: (3, 1), teacher: (3, 3), ..Rates::default() };
        let large = Rates { student: (9, 9), teacher: (3, 2), ..Rates::default() };
        let order = ranked(vec![(cluster("b"), small.clone()), (cluster("c"), large), (cluster("a"), small)]);
        assert_eq!(order.iter().map(|(one, _)| one.id.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
    }

    #[test]
    fn a_task_goes_by_its_category_then_by_what_it_is_alike_then_to_the_rest() {
        let (clusters, _) = read(
            r#"[{"id":"dates","description":"x","category":"dates"},{"id":"sums","description":"x","task_ids":["d2"]}]"#,
            &known(),
        )
        .expect("read");
        let samples = BTreeMap::from([("sums".to_owned(), vec!["add 12 and 30".to_owned()])]);
        let task = |id, category, query| Assigned { id, category, query };
        let tasks = [
            task("g1", Some("dates"), "add 12 and 31"),
            task("g2", None, "Add 12 and 35"),
            task("g3", Some("other"), "name a river"),
            task("d2", None, "anything"),
        ];
        let map = assign(&tasks, &clusters, &samples);
        assert_eq!(["g1", "g2", "g3", "d2", "g9"].map(|task| map.of(task)), ["dates", "sums", REST, "sums", REST]);
        assert_ne!(map.digest(), assign(&tasks[..3], &clusters, &samples).digest());
    }
}
