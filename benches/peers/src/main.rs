//! The engine beside OpenSSL and libipsec-mb, in one process. See `README.md` here.

mod clock;
mod frames;
mod library;
mod measure;

use frames::Sizes;
use measure::{Case, Figures, Who, measure};
use wlan_ciphers::{Backend, Lanes, Suite};

const USAGE: &str = "usage: peers [--rounds N] [--all]";

const SEAL_1500: Case = Case {
    suite: Suite::Ccmp128,
    sizes: Sizes::Fixed(1500),
    open: false,
    key_each: false,
    one_by_one: false,
};

/// What a measured speed is divided by.
#[derive(Clone, Copy, PartialEq)]
enum Against {
    OpenSsl,
    /// The best of its interfaces.
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
    /// This backend instead of the fastest.
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

/// Cases that no goal is set for.
fn other_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for suite in [Suite::Ccmp128, Suite::Ccmp256, Suite::Gcmp128, Suite::Gcmp256] {
        let sizes = [64, 128, 256, 576, 1024, 1500, 2304, 7935].map(Sizes::Fixed);
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

fn main() {
    let (mut rounds, mut all) = (60, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => match arguments.next().and_then(|n| n.parse().ok()).filter(|&n| n > 0) {
                Some(n) => rounds = n,
                None => fail("--rounds takes a number"),
            },
            "--all" => all = true,
            _ => fail(USAGE),
        }
    }
    // The portable engine is what the outputs are compared with; measuring it would take most of the time.
    let backends: Vec<Backend> = Backend::available().filter(|b| *b != Backend::Portable).collect();
    if backends.is_empty() {
        fail("this CPU has no AES instructions: there is nothing to compare");
    }
    println!("{}; engine backends {backends:?}", library::versions());
    let limit = Limit::of(&backends);
    limit.print();

    let mut measured: Vec<Figures> = Vec::new();
    let cases = goals().into_iter().map(|goal| goal.case);
    for case in cases.chain(if all { other_cases() } else { Vec::new() }) {
        if measured.iter().all(|figures| figures.case != case) {
            let figures = measure(case, &backends, rounds);
            print(&figures, &limit);
            measured.push(figures);
        }
    }
    println!("\nAll outputs were equal. Ratios of medians, whole MPDUs here against bare ciphers there:\n");
    println!(
        "{:46} {:>8} {:>9} {:>12}  verdict",
        "goal", "must", "measured", "CPU allows"
    );
    for goal in goals() {
        print_goal(&goal, &measured, &limit);
    }
}

fn fail(message: &str) -> ! {
    eprintln!("peers: {message}");
    std::process::exit(2)
}

/// What the AES unit allows: no instruction but AES rounds, and never a wait.
struct Limit {
    /// Cycles a block of AES-128 takes with the widest instructions, and with those of AES-NI.
    widest: f64,
    aesni: f64,
}

impl Limit {
    fn of(backends: &[Backend]) -> Limit {
        let block = |lanes: usize| 10.0 * clock::cycles_per_aes_round(lanes) / lanes as f64;
        let aesni = block(1);
        let mut widest = aesni;
        if backends.contains(&Backend::Vaes256) {
            widest = widest.min(block(2));
        }
        if backends.contains(&Backend::Vaes512) {
            widest = widest.min(block(4));
        }
        Limit { widest, aesni }
    }

    fn print(&self) {
        println!(
            "AES-128 takes {:.2} cycles a block at best, {:.2} by AES-NI; CCM at 1500 B cannot take less than {:.4} cycles/B",
            self.widest,
            self.aesni,
            self.frame(1500.0, self.widest) / 1500.0
        );
    }

    /// Cycles for the blocks of a CCM frame: B0, two of AAD and the payload for the MAC, A0 and the payload for CTR.
    fn frame(&self, payload_b: f64, block: f64) -> f64 {
        (2.0 * (payload_b / 16.0).ceil() + 4.0) * block
    }

    /// The least cycles for a case, where the AES unit is what limits it.
    fn of_case(&self, figures: &Figures, backend: Option<Backend>) -> Option<f64> {
        let Case {
            suite, one_by_one, ..
        } = figures.case;
        let block = if backend == Some(Backend::AesNi) {
            self.aesni
        } else {
            self.widest
        };
        (suite == Suite::Ccmp128 && !one_by_one).then(|| self.frame(figures.payload_b, block))
    }
}

fn describe(case: &Case) -> String {
    let Case {
        suite,
        sizes,
        open,
        key_each,
        one_by_one,
    } = case;
    let doing = if *open { "open" } else { "seal" };
    let keys = if *key_each { ", a key for each" } else { "" };
    let batch = if *one_by_one { ", one by one" } else { "" };
    format!("{suite:?} {doing} {sizes}{keys}{batch}")
}

fn print(figures: &Figures, limit: &Limit) {
    println!("\n{}", describe(&figures.case));
    for figure in &figures.figures {
        let (low, high) = figure.quartiles;
        let share = match (figure.who, limit.of_case(figures, None)) {
            (Who::Airtoll(Backend::Vaes512 | Backend::Vaes256), Some(least)) => {
                format!("  {:3.0} % of the limit", 100.0 * least / figure.cycles_per_frame)
            }
            _ => String::new(),
        };
        println!(
            "  {:16} {:9.1} cycles/frame (quartiles {low:.1}, {high:.1})  {:8.4} cycles/B{share}",
            figure.who.to_string(),
            figure.cycles_per_frame,
            figure.cycles_per_frame / figures.payload_b,
        );
    }
}

/// The fewest cycles of those that `who` names.
fn best(figures: &Figures, who: impl Fn(Who) -> bool) -> Option<f64> {
    let of = figures.figures.iter().filter(|figure| who(figure.who));
    of.map(|figure| figure.cycles_per_frame).min_by(f64::total_cmp)
}

fn print_goal(goal: &Goal, measured: &[Figures], limit: &Limit) {
    let find = |case: Case| measured.iter().find(|figures| figures.case == case);
    let Some(figures) = find(goal.case) else {
        return;
    };
    let ours =
        |who| matches!(who, Who::Airtoll(backend) if goal.backend.is_none_or(|wanted| wanted == backend));
    let theirs = match goal.against {
        Against::OpenSsl => best(figures, |who| who == Who::Library(library::Library::OpenSsl)),
        Against::IpsecMb => best(
            figures,
            |who| matches!(who, Who::Library(library) if library != library::Library::OpenSsl),
        ),
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
    let most = limit.of_case(figures, goal.backend).map(|least| theirs / least);
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
