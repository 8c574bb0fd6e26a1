//! Inner loops of vector search, compiled for several CPUs and chosen at run time.
//!
//! They are plain loops that the compiler vectorises. Dot products are also written by hand for
//! AVX2, because the compiler's code is slower.

use pulp::{Arch, Simd, WithSimd};

/// Fills `out` with the dot products of `query` and each of the consecutive `rows`. Numbers are
/// from -127 to 127.
pub(super) fn products(query: &[i8], rows: &[i8], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return simd.vectorize(AvxProducts { simd, query, rows, out });
    }
    Arch::new().dispatch(Products { query, rows, out });
}

/// The dot products as a plain loop.
struct Products<'a> {
    query: &'a [i8],
    rows: &'a [i8],
    out: &'a mut [i32],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, out) in self.rows.chunks_exact(self.query.len().max(1)).zip(self.out) {
            *out = dot_product(self.query, row);
        }
    }
}

#[inline(always)]
fn dot_product(query: &[i8], row: &[i8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

/// The dot products with AVX2: more than twice as fast as the compiled plain loop.
#[cfg(target_arch = "x86_64")]
struct AvxProducts<'a> {
    simd: pulp::x86::V3,
    query: &'a [i8],
    rows: &'a [i8],
    out: &'a mut [i32],
}

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for AvxProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (avx, avx2) = (self.simd.avx, self.simd.avx2);
        let ones = avx._mm256_set1_epi16(1);
        // The instruction takes one unsigned operand, so the row's signs go to the query. Two
        // products of at most 127 x 127 fit into 16 bits.
        let add_products = |sum, query: [i8; 32], row: [i8; 32]| {
            let row = pulp::cast(row);
            let signed = avx2._mm256_sign_epi8(pulp::cast(query), row);
            let pairs = avx2._mm256_maddubs_epi16(avx2._mm256_abs_epi8(row), signed);
            avx2._mm256_add_epi32(sum, avx2._mm256_madd_epi16(pairs, ones))
        };
        let (query, query_rest) = self.query.as_chunks::<64>();
        for (row, out) in self.rows.chunks_exact(self.query.len().max(1)).zip(self.out) {
            let (row, row_rest) = row.as_chunks::<64>();
            // Two sums, so that one addition need not wait for the other.
            let (mut first_sum, mut second_sum) =
                (avx._mm256_setzero_si256(), avx._mm256_setzero_si256());
            for (a, b) in query.iter().zip(row) {
                if let ([a, c], [b, d]) = (a.as_chunks::<32>().0, b.as_chunks::<32>().0) {
                    first_sum = add_products(first_sum, *a, *b);
                    second_sum = add_products(second_sum, *c, *d);
                }
            }
            let lanes: [i32; 8] = pulp::cast(avx2._mm256_add_epi32(first_sum, second_sum));
            *out = lanes.iter().sum::<i32>() + dot_product(query_rest, row_rest);
        }
    }
}

/// Fills `out` with the number of bits in which `query` differs from each of the consecutive
/// `rows`.
pub(super) fn differences(query: &[u64], rows: &[u64], out: &mut [u16]) {
    Arch::new().dispatch(Differences { query, rows, out });
}

struct Differences<'a> {
    query: &'a [u64],
    rows: &'a [u64],
    out: &'a mut [u16],
}

impl WithSimd for Differences<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, out) in self.rows.chunks_exact(self.query.len().max(1)).zip(self.out) {
            *out =
                self.query.iter().zip(row).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>() as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_differences_are_exact() {
        for length in [1_usize, 7, 16, 31, 48, 384, 1000] {
            let query: Vec<i8> = (0..length).map(|n| ((n * 37 % 255) as i32 - 127) as i8).collect();
            let rows: Vec<i8> =
                (0..3 * length).map(|n| ((n * 91 % 255) as i32 - 127) as i8).collect();
            let mut out = [0; 3];
            products(&query, &rows, &mut out);
            let mut plain = [0; 3];
            Arch::new().dispatch(Products { query: &query, rows: &rows, out: &mut plain });
            assert_eq!(out, plain, "{length}");
            for (row, out) in rows.chunks(length).zip(out) {
                let expected: i64 =
                    query.iter().zip(row).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
                assert_eq!(i64::from(out), expected, "{length}");
            }
        }
        // The largest numbers of each sign.
        let rows: Vec<i8> = [127_i8, -127].into_iter().flat_map(|number| [number; 384]).collect();
        let mut out = [0; 2];
        products(&[-127; 384], &rows, &mut out);
        assert_eq!(out, [-127 * 127 * 384, 127 * 127 * 384]);
        let mut out = [0; 2];
        differences(&[0b1011, u64::MAX], &[0b1011, u64::MAX, 0, 0], &mut out);
        assert_eq!(out, [0, 67]);
    }
}
