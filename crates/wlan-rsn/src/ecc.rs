//! The groups of SAE and OWE, and arithmetic in them on the octets sent over the air. The groups are NIST curves,
//! numbered by the IANA registry "Group Description" (RFC 2409).
//!
//! A scalar is a big-endian number. An element is its x followed by its y, each as long as the prime (IEEE
//! 802.11-2020 12.4.7.2). The arithmetic of the RustCrypto curves runs in constant time.

use elliptic_curve::array::Array;
use elliptic_curve::group::Curve as _;
use elliptic_curve::ops::Reduce;
use elliptic_curve::point::{AffineCoordinates, DecompressPoint};
use elliptic_curve::{
    AffinePoint, CurveArithmetic, Field, FieldBytes, Group as _, PrimeCurve, PrimeField, ProjectivePoint,
};
use hash2curve::MapToCurve;
use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, Zeroizing};

use crate::hash::{Hash, Octets, octets};

/// Length of the longest coordinate in octets.
pub(crate) const MAX_FIELD_LEN: usize = 66;
/// Length of the longest element in octets.
pub(crate) const MAX_ELEMENT_LEN: usize = 2 * MAX_FIELD_LEN;

/// A number modulo the order of a group.
pub(crate) type Scalar = Octets<MAX_FIELD_LEN>;
/// A point of a curve, except the point at infinity.
pub(crate) type Element = Octets<MAX_ELEMENT_LEN>;

/// A supported finite cyclic group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Group {
    /// Group 19, which every SAE and OWE station must support.
    P256,
    /// Group 20.
    P384,
    /// Group 21.
    P521,
}

impl Group {
    /// All groups, in the order of their numbers.
    pub const ALL: [Group; 3] = [Group::P256, Group::P384, Group::P521];

    /// The number in the registry.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Group::P256 => 19,
            Group::P384 => 20,
            Group::P521 => 21,
        }
    }

    /// Returns the group with this [`number`](Self::number), if it is supported.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Group> {
        Group::ALL.into_iter().find(|group| group.number() == number)
    }

    /// Length of a coordinate and of a scalar in octets.
    #[must_use]
    pub const fn field_len(self) -> usize {
        self.field_bits().div_ceil(8) as usize
    }

    pub(crate) const fn field_bits(self) -> u16 {
        match self {
            Group::P256 => 256,
            Group::P384 => 384,
            Group::P521 => 521,
        }
    }

    /// Returns the hash of SAE's hash-to-element (IEEE 802.11-2020 Table 12-1) and of OWE (RFC 8110 section 4.1).
    pub(crate) const fn hash(self) -> Hash {
        match self {
            Group::P256 => Hash::Sha256,
            Group::P384 => Hash::Sha384,
            Group::P521 => Hash::Sha512,
        }
    }

    /// The prime, big-endian.
    pub(crate) const fn prime(self) -> &'static [u8] {
        const P521: [u8; 66] = {
            let mut prime = [0xff; 66];
            prime[0] = 1;
            prime
        };
        match self {
            Group::P256 => {
                b"\xff\xff\xff\xff\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
            }
            Group::P384 => {
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\
                  \xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff\xff\0\0\0\0\0\0\0\0\xff\xff\xff\xff"
            }
            Group::P521 => &P521,
        }
    }
}

/// Calls a function of this module with the curve of `group` as its first generic argument.
macro_rules! on_curve {
    ($group:expr, $function:ident($($argument:expr),*)) => {
        match $group {
            Group::P256 => $function::<p256::NistP256>($($argument),*),
            Group::P384 => $function::<p384::NistP384>($($argument),*),
            Group::P521 => $function::<p521::NistP521>($($argument),*),
        }
    };
}

/// A curve with all operations that SAE requires.
trait SaeCurve: PrimeCurve + CurveArithmetic<AffinePoint: DecompressPoint<Self>> + MapToCurve {
    /// Reduces a big-endian number 1.5 times as long as the prime modulo the prime (IEEE 802.11-2020 12.4.4.2.3).
    fn reduce(wide: &[u8]) -> Self::FieldElement;
}

fn reduce_exact<C: MapToCurve>(wide: &[u8]) -> C::FieldElement {
    C::FieldElement::reduce(&Array::try_from(wide).expect("1.5 times as long as the prime"))
}

impl SaeCurve for p256::NistP256 {
    fn reduce(wide: &[u8]) -> Self::FieldElement {
        reduce_exact::<Self>(wide)
    }
}

impl SaeCurve for p384::NistP384 {
    fn reduce(wide: &[u8]) -> Self::FieldElement {
        reduce_exact::<Self>(wide)
    }
}

impl SaeCurve for p521::NistP521 {
    fn reduce(wide: &[u8]) -> Self::FieldElement {
        // 99 octets, where RFC 9380 uses 98: the first octet counts multiples of 2^784 = (2^392)^2.
        const LEN: usize = 98;
        let mut octets = [0; LEN];
        octets[LEN - 1 - 392 / 8] = 1;
        let root = reduce_exact::<Self>(&octets);
        octets.fill(0);
        octets[LEN - 1] = wide[0];
        reduce_exact::<Self>(&octets) * root * root + reduce_exact::<Self>(&wide[1..])
    }
}

fn scalar_of<C: SaeCurve>(octets: &[u8]) -> Option<C::Scalar> {
    let repr = FieldBytes::<C>::try_from(octets).ok()?;
    C::Scalar::from_repr(repr).into_option()
}

/// Reads a scalar greater than 1. An honest peer never sends 0 or 1 (IEEE 802.11-2020 12.4.5.4).
fn proper_scalar_of<C: SaeCurve>(octets: &[u8]) -> Option<C::Scalar> {
    let scalar = scalar_of::<C>(octets)?;
    (scalar != C::Scalar::ZERO && scalar != C::Scalar::ONE).then_some(scalar)
}

fn scalar_octets<C: SaeCurve>(scalar: &C::Scalar) -> Scalar {
    octets(&scalar.to_repr())
}

fn point_of<C: SaeCurve>(element: &[u8]) -> Option<AffinePoint<C>> {
    if !element.len().is_multiple_of(2) {
        return None;
    }
    let (x, y) = element.split_at(element.len() / 2);
    let x = FieldBytes::<C>::try_from(x).ok()?;
    let y = FieldBytes::<C>::try_from(y).ok()?;
    AffinePoint::<C>::from_coordinates(&x, &y).into_option()
}

/// Returns the octets of a point, or `None` for the point at infinity.
fn element_octets<C: SaeCurve>(point: &ProjectivePoint<C>) -> Option<Element> {
    if point.is_identity().into() {
        return None;
    }
    let mut affine = point.to_affine();
    let mut element = octets(&affine.x());
    element
        .try_extend_from_slice(&affine.y())
        .expect("the capacity fits the largest group");
    affine.zeroize();
    Some(element)
}

/// Whether the octets are a scalar greater than 1 and less than the order.
pub(crate) fn is_proper_scalar(group: Group, scalar: &[u8]) -> bool {
    fn run<C: SaeCurve>(scalar: &[u8]) -> bool {
        proper_scalar_of::<C>(scalar).is_some()
    }
    on_curve!(group, run(scalar))
}

/// Whether the octets are the coordinates of a point of the curve, both less than the prime.
pub(crate) fn is_element(group: Group, element: &[u8]) -> bool {
    fn run<C: SaeCurve>(element: &[u8]) -> bool {
        point_of::<C>(element).is_some()
    }
    on_curve!(group, run(element))
}

/// Draws a scalar greater than 1.
pub(crate) fn random_scalar(group: Group, rng: &mut dyn CryptoRng) -> Scalar {
    let unused_bits = group.field_len() * 8 - usize::from(group.field_bits());
    loop {
        let mut scalar: Scalar = octets(&[0; MAX_FIELD_LEN][..group.field_len()]);
        rng.fill_bytes(&mut scalar);
        scalar[0] &= 0xff >> unused_bits;
        // The orders begin with at least 32 one bits: a draw fails with a probability of about 2^-32 at most.
        if is_proper_scalar(group, &scalar) {
            return scalar;
        }
    }
}

/// Adds two scalars modulo the order. Returns `None` if either is not a scalar.
pub(crate) fn add_scalars(group: Group, a: &[u8], b: &[u8]) -> Option<Scalar> {
    fn run<C: SaeCurve>(a: &[u8], b: &[u8]) -> Option<Scalar> {
        let sum = Zeroizing::new(*Zeroizing::new(scalar_of::<C>(a)?) + *Zeroizing::new(scalar_of::<C>(b)?));
        Some(scalar_octets::<C>(&sum))
    }
    on_curve!(group, run(a, b))
}

/// Multiplies the base point by `scalar`. Returns `None` if `scalar` is not a scalar, or 0.
pub(crate) fn multiply_base(group: Group, scalar: &[u8]) -> Option<Element> {
    fn run<C: SaeCurve>(scalar: &[u8]) -> Option<Element> {
        let scalar = Zeroizing::new(scalar_of::<C>(scalar)?);
        element_octets::<C>(&ProjectivePoint::<C>::mul_by_generator(&scalar))
    }
    on_curve!(group, run(scalar))
}

/// Computes the inverse of `element` times `scalar`: the element of a Commit (IEEE 802.11-2020 12.4.5.2). Returns
/// `None` if the octets are not an element and a scalar, or if the scalar is 0.
pub(crate) fn multiply_and_invert(group: Group, element: &[u8], scalar: &[u8]) -> Option<Element> {
    fn run<C: SaeCurve>(element: &[u8], scalar: &[u8]) -> Option<Element> {
        let scalar = Zeroizing::new(scalar_of::<C>(scalar)?);
        let point = ProjectivePoint::<C>::from(point_of::<C>(element)?);
        let product = Zeroizing::new(-(point * *scalar));
        element_octets::<C>(&product)
    }
    on_curve!(group, run(element, scalar))
}

/// Computes the x of `rand` times (`scalar` times `pwe` plus `element`): the secret of SAE (12.4.5.4). Returns `None`
/// if the octets are not scalars and elements, or if the result is the point at infinity.
pub(crate) fn shared_secret(
    group: Group,
    pwe: &[u8],
    rand: &[u8],
    scalar: &[u8],
    element: &[u8],
) -> Option<Scalar> {
    fn run<C: SaeCurve>(pwe: &[u8], rand: &[u8], scalar: &[u8], element: &[u8]) -> Option<Scalar> {
        let rand = Zeroizing::new(scalar_of::<C>(rand)?);
        let pwe = Zeroizing::new(ProjectivePoint::<C>::from(point_of::<C>(pwe)?));
        let sum = Zeroizing::new(
            *pwe * scalar_of::<C>(scalar)? + ProjectivePoint::<C>::from(point_of::<C>(element)?),
        );
        let secret = Zeroizing::new(*sum * *rand);
        let secret = element_octets::<C>(&secret)?;
        Some(octets(&secret[..secret.len() / 2]))
    }
    on_curve!(group, run(pwe, rand, scalar, element))
}

/// Computes the x of `scalar` times the point with coordinate `x`; the sign of the point does not affect the result.
/// Returns `None` if the curve has no point with this x, or if `scalar` is not a scalar, or 0.
pub(crate) fn diffie_hellman(group: Group, scalar: &[u8], x: &[u8]) -> Option<Scalar> {
    fn run<C: SaeCurve>(scalar: &[u8], x: &[u8]) -> Option<Scalar> {
        let scalar = Zeroizing::new(scalar_of::<C>(scalar)?);
        let x = FieldBytes::<C>::try_from(x).ok()?;
        let point = AffinePoint::<C>::decompress(&x, Choice::from(0)).into_option()?;
        let shared = Zeroizing::new(ProjectivePoint::<C>::from(point) * *scalar);
        let shared = element_octets::<C>(&shared)?;
        Some(octets(&shared[..shared.len() / 2]))
    }
    on_curve!(group, run(scalar, x))
}

/// Adds the points that simplified SWU computes from two numbers, each 1.5 times as long as the prime (IEEE
/// 802.11-2020 12.4.4.2.3, the map of RFC 9380 section 6.6.2). Returns `None` for the point at infinity, which an
/// attacker cannot provoke.
pub(crate) fn map_and_add(group: Group, u1: &[u8], u2: &[u8]) -> Option<Element> {
    fn run<C: SaeCurve>(u1: &[u8], u2: &[u8]) -> Option<Element> {
        let sum = Zeroizing::new(C::map_to_curve(C::reduce(u1)) + C::map_to_curve(C::reduce(u2)));
        element_octets::<C>(&sum)
    }
    on_curve!(group, run(u1, u2))
}

/// Multiplies `element` by (`number` modulo (the order - 1)) + 1, where `number` is no longer than a scalar (IEEE
/// 802.11-2020 12.4.4.2.3). The number is not secret, so its timing may vary.
pub(crate) fn multiply_by_number(group: Group, element: &[u8], number: &[u8]) -> Option<Element> {
    fn run<C: SaeCurve>(element: &[u8], number: &[u8]) -> Option<Element> {
        let mut repr = FieldBytes::<C>::default();
        let start = repr.len().checked_sub(number.len())?;
        repr[start..].copy_from_slice(number);
        // With q for the order: a number below q - 1 is incremented. Any other number is below 2 (q - 1), so that
        // (number - (q - 1)) + 1 equals number + 2 modulo q.
        let one = C::Scalar::ONE;
        let factor = match scalar_of::<C>(&repr) {
            Some(scalar) if scalar != -one => scalar + one,
            _ => <C::Scalar as Reduce<FieldBytes<C>>>::reduce(&repr) + one + one,
        };
        let point = Zeroizing::new(ProjectivePoint::<C>::from(point_of::<C>(element)?));
        let product = Zeroizing::new(*point * factor);
        element_octets::<C>(&product)
    }
    on_curve!(group, run(element, number))
}

/// Returns the point of the first candidate that is the x of a point. At least `at_least` candidates are tried, all
/// with the same work, regardless of the position of the first (12.4.4.2.2). A candidate is an x and the parity of y.
pub(crate) fn first_point(
    group: Group,
    at_least: usize,
    candidates: &mut dyn Iterator<Item = (Scalar, u8)>,
) -> Option<Element> {
    fn run<C: SaeCurve>(
        at_least: usize,
        candidates: &mut dyn Iterator<Item = (Scalar, u8)>,
    ) -> Option<Element> {
        let mut first = Zeroizing::new(AffinePoint::<C>::default());
        let mut found = Choice::from(0);
        let mut tried = 0;
        while tried < at_least || !bool::from(found) {
            let Some((x, parity)) = candidates.next() else {
                break;
            };
            tried += 1;
            let x = Zeroizing::new(FieldBytes::<C>::try_from(x.as_slice()).ok()?);
            let point = AffinePoint::<C>::decompress(&x, Choice::from(parity & 1));
            let is_point = point.is_some();
            let point = Zeroizing::new(point.unwrap_or(AffinePoint::<C>::default()));
            first.conditional_assign(&point, is_point & !found);
            found |= is_point;
        }
        let first = Zeroizing::new(ProjectivePoint::<C>::from(*first));
        element_octets::<C>(&first)
    }
    on_curve!(group, run(at_least, candidates))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Constant;

    /// A bit that is always 0 or always 1 would halve the work of guessing a scalar.
    #[test]
    fn a_random_scalar_keeps_every_drawn_bit_of_the_field() {
        for octet in [0x55, 0xaa] {
            for (group, first) in [
                (Group::P256, octet),
                (Group::P384, octet),
                // 521 bits leave one bit in the first octet.
                (Group::P521, octet & 1),
            ] {
                let scalar = random_scalar(group, &mut Constant(octet));
                assert_eq!(scalar[0], first);
                assert!(scalar[1..].iter().all(|&drawn| drawn == octet));
            }
        }
    }
}
