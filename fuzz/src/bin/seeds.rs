//! Writes the seeds to `corpus/TARGET/`.

fn main() -> std::io::Result<()> {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in [
        "frames",
        "captures",
        "open",
        "seal",
        "handshake",
        "sae",
        "phases",
        "eap",
        "netlink",
        "agent",
    ] {
        std::fs::create_dir_all(corpus.join(target))?;
        for (n, seed) in airtoll_fuzz::seeds().iter().enumerate() {
            std::fs::write(corpus.join(target).join(format!("seed-{n:03}")), seed)?;
        }
    }
    Ok(())
}
