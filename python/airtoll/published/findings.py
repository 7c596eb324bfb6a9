"""All findings of recomputing a publication."""

from airtoll.published import checks
from airtoll.published.claims import check_claims
from airtoll.published.outcome import Finding
from airtoll.published.publication import Publication

_ORDER = ("contradicts", "noted", "holds", "implied")


def findings(publication: Publication) -> tuple[Finding, ...]:
    """All findings, ordered by verdict: contradicts, noted, holds, implied."""
    of_claims = tuple(check_claims(publication))
    noted = (
        Finding(verdict="noted", about=(note.id, *note.concerns), place=note.place, text=note.text)
        for note in publication.notes
    )
    every = [
        *of_claims,
        *checks.check_repeated(publication),
        *checks.check_largest(publication),
        *checks.check_orderings(publication),
        *checks.check_trends(publication),
        *checks.check_percents(of_claims),
        *checks.check_points_as_percents(publication, of_claims),
        *checks.check_uncertainties(publication),
        *checks.check_quotes(publication),
        *checks.check_streams(publication),
        *noted,
    ]
    return tuple(sorted(every, key=lambda finding: _ORDER.index(finding.verdict)))
