//! The goals of `benches/peers`, and the tables that it prints.

use std::time::Duration;

use wlan_ciphers::{Backend, Lanes, Suite};
use wlan_peers::{Figures, Interface, Library, Limit, Who, measure};
use wlan_speed::{Case, Effort, Sizes, clock};

use crate::{USAGE, fail};

const SEAL_1500: Case = Case {
    suite: Suite::Ccmp128,
    sizes: Sizes::Fixed(1500),
    open: false,
    key_each: false,
    one_by_one: false,
};

/// The reference of a ratio.
#[derive(Clone, Copy, PartialEq)]
enum Against {
    OpenSsl,
    /// The fastest of its interfaces.
    IpsecMb,
    /// The engine's own CCMP-128 on one frame at a time.
    OwnStandard,
}

impl Against {
    fn name(self) -> &'static str {
        match self {
            Against::OpenSsl => "OpenSSL",
            Against::IpsecMb => "ipsec-mb",
            Against::OwnStandard => "own CCMP-128",
        }
    }
}

struct Goal {
    what: &'static str,
    case: Case,
    /// The backend to compare, if it is not the fastest.
    backend: Option<Backend>,
    against: Against,
    ratio: f64,
}

fn goals() -> Vec<Goal> {
    use Against::{IpsecMb, OpenSsl, OwnStandard};
    let sized = |case, octets| Case {
        sizes: Sizes::Fixed(octets),
        ..case
    };
    let open = Case {
        open: true,
        ..SEAL_1500
    };
    let key_each = Case {
        key_each: true,
        ..SEAL_1500
    };
    let one = Case {
        one_by_one: true,
        ..SEAL_1500
    };
    let imix = Case {
        sizes: Sizes::Imix,
        ..SEAL_1500
    };
    let gcmp = Case {
        suite: Suite::Gcmp128,
        ..SEAL_1500
    };
    let lanes = |lanes| Case {
        suite: Suite::Enhanced(lanes),
        ..one
    };
    let aesni = Some(Backend::AesNi);
    let goal = |what, case, against, ratio| Goal {
        what,
        case,
        backend: None,
        against,
        ratio,
    };
    vec![
        goal("seal", SEAL_1500, OpenSsl, 16.0),
        goal("seal", SEAL_1500, IpsecMb, 2.0),
        goal("seal", sized(SEAL_1500, 1408), OpenSsl, 16.0),
        goal("seal", sized(SEAL_1500, 1408), IpsecMb, 2.0),
        goal("seal", sized(SEAL_1500, 128), OpenSsl, 25.0),
        goal("seal", sized(SEAL_1500, 128), IpsecMb, 4.9),
        goal("open", open, OpenSsl, 16.0),
        goal("open", open, IpsecMb, 2.0),
        goal("open", sized(open, 128), OpenSsl, 25.0),
        goal("open", sized(open, 128), IpsecMb, 4.9),
        goal("a key for each frame", key_each, IpsecMb, 1.45),
        goal("a key for each frame", sized(key_each, 128), IpsecMb, 3.8),
        goal("seal", imix, OpenSsl, 11.0),
        goal("seal", imix, IpsecMb, 2.4),
        goal("one frame", one, OpenSsl, 1.18),
        goal("one frame", sized(one, 128), OpenSsl, 2.0),
        goal("one frame, 2 lanes", lanes(Lanes::Two), OwnStandard, 1.9),
        goal("one frame, 4 lanes", lanes(Lanes::Four), OwnStandard, 3.5),
        goal("one frame, 8 lanes", lanes(Lanes::Eight), OwnStandard, 6.0),
        Goal {
            backend: aesni,
            ..goal("seal, AES-NI only", SEAL_1500, OpenSsl, 4.2)
        },
        goal("seal", gcmp, IpsecMb, 1.0),
        goal("seal", gcmp, OpenSsl, 5.9),
    ]
}

/// Cases without a goal.
fn other_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for suite in Suite::OF_TEMPORAL_KEYS
        .into_iter()
        .filter(|suite| suite.lanes().is_none())
    {
        let sizes = [64, 128, 256, 512, 1024, 1500, 2304, 7935].map(Sizes::Fixed);
        for sizes in sizes.into_iter().chain([Sizes::Imix, Sizes::Spread]) {
            for open in [false, true] {
                cases.push(Case {
                    suite,
                    sizes,
                    open,
                    ..SEAL_1500
                });
            }
        }
    }
    for lanes in Lanes::ALL {
        for one_by_one in [false, true] {
            cases.push(Case {
                suite: Suite::Enhanced(lanes),
                one_by_one,
                ..SEAL_1500
            });
        }
    }
    cases
}

/// Suites, sizes and ways of the table that `--markdown` prints.
fn cases_of_table() -> Vec<Case> {
    let mut cases = Vec::new();
    for suite in Suite::OF_TEMPORAL_KEYS
        .into_iter()
        .filter(|suite| suite.lanes().is_none())
    {
        let of = |sizes| Case {
            suite,
            sizes,
            ..SEAL_1500
        };
        cases.extend([64, 128, 512, 1500].map(|octets| of(Sizes::Fixed(octets))));
        cases.push(of(Sizes::Imix));
        let long = of(Sizes::Fixed(1500));
        for octets in [128, 1500] {
            cases.push(Case {
                key_each: true,
                ..of(Sizes::Fixed(octets))
            });
        }
        cases.push(Case { open: true, ..long });
        cases.push(Case {
            one_by_one: true,
            ..long
        });
    }
    cases
}

/// Prints the page docs/measurements/ciphers-newest.md.
fn print_page(limit: Limit, effort: Effort) {
    println!("# Speed of frame protection beside newer libraries\n");
    println!(
        "`make -C benches/peers newest` measures this table. [Speed of frame protection](../explanation/ciphers.md)"
    );
    println!(
        "describes the method. c/B: core cycles per byte of payload. Ratio: the library's time over airtoll's."
    );
    println!(
        "A dash: the library does not support the suite. The last column has the library with the least time.\n"
    );
    println!("    CPU       {}", clock::cpu_model().unwrap_or_default());
    println!(
        "    airtoll   {}, backend {}",
        env!("CARGO_PKG_VERSION"),
        Backend::detect()
    );
    for &library in Library::ALL {
        println!("    {:9} {}", library.name(), version(library));
    }
    print!("\n| frames | payload B | airtoll c/B | % of limit |");
    for library in Library::ALL {
        print!(" {} ratio |", library.name());
    }
    println!(" fastest library |");
    println!("| --- |{} --- |", " ---: |".repeat(3 + Library::ALL.len()));
    for case in cases_of_table() {
        let figures =
            measure(case, &[Backend::detect()], effort).unwrap_or_else(|fault| fail(&fault.to_string()));
        let Some(ours) = best(&figures, |who| matches!(who, Who::Airtoll(_))) else {
            continue;
        };
        let peer = |accepts: &dyn Fn(Interface) -> bool| {
            let figure = figures.best(|who| matches!(who, Who::Peer(interface) if accepts(interface)))?;
            match (figure.who, figure.cycles_per_frame) {
                (Who::Peer(interface), Some(theirs)) => Some((interface, theirs.median / ours)),
                _ => None,
            }
        };
        let share = limit
            .cycles_per_frame(&case)
            .map_or(f64::NAN, |least| 100.0 * least / ours);
        let [doing, conditions] = work(&case);
        print!(
            "| {doing}{conditions} | {} | {:.3} | {share:.0} |",
            case.sizes.to_string().trim_end_matches(" B"),
            ours / figures.payload_b,
        );
        for &library in Library::ALL {
            match peer(&|interface| interface.library() == library) {
                Some((by, ratio)) if library.interfaces(case.suite).len() > 1 => {
                    print!(" {ratio:.2}x {} |", by.name());
                }
                Some((_, ratio)) => print!(" {ratio:.2}x |"),
                None => print!(" - |"),
            }
        }
        match peer(&|_| true) {
            Some((interface, ratio)) => println!(" {interface}, {ratio:.2}x |"),
            None => println!(" - |"),
        }
    }
}

/// Measures as the arguments specify, and prints the figures.
pub fn run(mut arguments: impl Iterator<Item = String>) {
    let (mut rounds, mut all, mut markdown) = (60, false, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => match arguments.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0) {
                Some(n) => rounds = n,
                None => fail("--rounds requires a positive number"),
            },
            "--all" => all = true,
            "--markdown" => markdown = true,
            _ => fail(USAGE),
        }
    }
    // The portable engine is only the reference for the outputs: measuring it would take most of the time.
    let backends: Vec<Backend> = Backend::available().filter(|b| *b != Backend::Portable).collect();
    if backends.is_empty() {
        fail("this CPU has no AES instructions: there is nothing to compare");
    }
    let limit = Limit::of_this_cpu().unwrap_or_else(|| fail("cycles cannot be counted on this CPU"));
    let effort = Effort {
        rounds,
        within: Duration::MAX,
    };
    if markdown {
        return print_page(limit, effort);
    }
    for &library in Library::ALL {
        println!("{}: {}", library.name(), version(library));
    }
    println!(
        "engine backends {backends:?}; AES-128 takes at least {:.2} cycles per block, {:.2} with AES-NI",
        10.0 * limit.round(),
        10.0 * limit.with_aesni().round()
    );

    let mut measured: Vec<Figures> = Vec::new();
    let cases = goals().into_iter().map(|goal| goal.case);
    for case in cases.chain(if all { other_cases() } else { Vec::new() }) {
        if measured.iter().all(|figures| figures.case != case) {
            let figures = measure(case, &backends, effort).unwrap_or_else(|fault| fail(&fault.to_string()));
            print(&figures, limit);
            measured.push(figures);
        }
    }
    println!(
        "\nAll outputs are equal. Ratios of medians, complete MPDUs against the libraries' bare ciphers:\n"
    );
    println!(
        "{:46} {:>8} {:>9} {:>12}  verdict",
        "goal", "must", "measured", "CPU allows"
    );
    for goal in goals() {
        print_goal(&goal, &measured, limit);
    }
}

fn describe(case: &Case) -> String {
    let [doing, conditions] = work(case);
    format!("{doing} {}{conditions}", case.sizes)
}

/// The suite and operation of a case, and its conditions except the sizes.
fn work(case: &Case) -> [String; 2] {
    let Case {
        suite,
        open,
        key_each,
        one_by_one,
        ..
    } = case;
    let doing = if *open { "open" } else { "seal" };
    let keys = if *key_each { ", one key per frame" } else { "" };
    let batch = if *one_by_one { ", one by one" } else { "" };
    [format!("{suite:?} {doing}"), format!("{keys}{batch}")]
}

/// The version of a library, or why it is left out.
fn version(library: Library) -> String {
    library
        .version()
        .map_or_else(|absent| format!("left out: {absent}"), String::from)
}

fn print(figures: &Figures, limit: Limit) {
    println!("\n{}", describe(&figures.case));
    for figure in &figures.figures {
        let Some(cycles) = figure.cycles_per_frame else {
            continue;
        };
        let (low, high) = cycles.quartiles;
        let least = match figure.who {
            Who::Airtoll(Backend::AesNi) => limit.with_aesni().cycles_per_frame(&figures.case),
            Who::Airtoll(_) => limit.cycles_per_frame(&figures.case),
            Who::Peer(_) => None,
        };
        let share = least.map_or_else(String::new, |least| {
            format!("  {:3.0} % of the limit", 100.0 * least / cycles.median)
        });
        println!(
            "  {:16} {:9.1} cycles/frame (quartiles {low:.1}, {high:.1})  {:8.4} cycles/B{share}",
            figure.who.to_string(),
            cycles.median,
            cycles.median / figures.payload_b,
        );
    }
}

/// The fewest cycles per frame among the contestants that `who` accepts.
fn best(figures: &Figures, who: impl Fn(Who) -> bool) -> Option<f64> {
    figures.best(who)?.cycles_per_frame.map(|cycles| cycles.median)
}

/// Accepts the interfaces of a library.
fn of_library(library: Library) -> impl Fn(Who) -> bool {
    move |who| matches!(who, Who::Peer(interface) if interface.library() == library)
}

fn print_goal(goal: &Goal, measured: &[Figures], limit: Limit) {
    let find = |case: Case| measured.iter().find(|figures| figures.case == case);
    let Some(figures) = find(goal.case) else {
        return;
    };
    let ours =
        |who| matches!(who, Who::Airtoll(backend) if goal.backend.is_none_or(|wanted| wanted == backend));
    let theirs = match goal.against {
        Against::OpenSsl => best(figures, of_library(Library::OpenSsl)),
        Against::IpsecMb => best(figures, of_library(Library::IpsecMb)),
        Against::OwnStandard => find(Case {
            suite: Suite::Ccmp128,
            ..goal.case
        })
        .and_then(|figures| best(figures, ours)),
    };
    let (Some(ours), Some(theirs)) = (best(figures, ours), theirs) else {
        return;
    };
    let ratio = theirs / ours;
    let limit = if goal.backend == Some(Backend::AesNi) {
        limit.with_aesni()
    } else {
        limit
    };
    let most = limit.cycles_per_frame(&figures.case).map(|least| theirs / least);
    let verdict = match most {
        _ if ratio >= goal.ratio => "reached",
        Some(most) if most < goal.ratio => "beyond this CPU",
        _ => "missed",
    };
    let what = match figures.case {
        Case {
            suite: Suite::Enhanced(_),
            ..
        } => goal.what.to_string(),
        case => format!("{:?} {}, {}", case.suite, goal.what, case.sizes),
    };
    println!(
        "{:46} {:7.2}x {ratio:8.2}x {:>12}  {verdict}",
        format!("{what}: {}", goal.against.name()),
        goal.ratio,
        most.map_or_else(|| "-".to_string(), |most| format!("{most:.2}x")),
    );
}
