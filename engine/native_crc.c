/* CRC-32 as zlib's, and CRC-32C (Castagnoli); see native.c. */

#include "native.h"

/* Eight bytes at a time: tables[n][b] is what byte b does n bytes later. */
typedef uint32_t Tables[8][256];

static Tables plain_tables, castagnoli_tables;

static void fill(Tables tables, uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        tables[0][byte] = crc;
    }
    for (int later = 1; later < 8; later++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = tables[later - 1][byte];
            tables[later][byte] = before >> 8 ^ tables[0][before & 0xFF];
        }
}

static uint32_t by_tables(Tables tables, uint32_t crc, const uint8_t *data, Py_ssize_t size) {
    for (; size >= 8; data += 8, size -= 8)
        crc = tables[7][(crc ^ data[0]) & 0xFF] ^ tables[6][(crc >> 8 ^ data[1]) & 0xFF] ^
              tables[5][(crc >> 16 ^ data[2]) & 0xFF] ^ tables[4][crc >> 24 ^ data[3]] ^
              tables[3][data[4]] ^ tables[2][data[5]] ^ tables[1][data[6]] ^ tables[0][data[7]];
    for (; size > 0; data++, size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *data) & 0xFF];
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Sixteen bytes at a time, four times over, by multiplication without carries. The method and its constants, powers of x
modulo the polynomial with their bits in reverse, are those of "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
Instruction", Intel, 2009. */

#define FOLDED_MIN 64

__attribute__((target("pclmul,sse4.1"))) static __m128i fold(__m128i sum, __m128i powers, __m128i more) {
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(sum, powers, 0x00), _mm_clmulepi64_si128(sum, powers, 0x11)), more);
}

static inline __m128i at(const uint8_t *data, int block) { return _mm_loadu_si128((const __m128i *)data + block); }

/* Of `size` bytes, at least FOLDED_MIN, and whole blocks of sixteen. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t folded(uint32_t crc, const uint8_t *data, Py_ssize_t size) {
    const __m128i by_four = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4), by_one = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i low = _mm_set_epi32(0, -1, 0, -1), polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    __m128i sums[4] = {_mm_xor_si128(at(data, 0), _mm_cvtsi32_si128((int)crc)), at(data, 1), at(data, 2), at(data, 3)};
    for (data += 64, size -= 64; size >= 64; data += 64, size -= 64)
        for (int lane = 0; lane < 4; lane++)
            sums[lane] = fold(sums[lane], by_four, at(data, lane));
    __m128i sum = sums[0];
    for (int lane = 1; lane < 4; lane++)
        sum = fold(sum, by_one, sums[lane]);
    for (; size >= 16; data += 16, size -= 16)
        sum = fold(sum, by_one, at(data, 0));
    /* From 128 bits to 64, and to 32. */
    sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, by_one, 0x10), _mm_srli_si128(sum, 8));
    __m128i half = _mm_clmulepi64_si128(_mm_and_si128(sum, low), _mm_set_epi64x(0, 0x0163cd6124), 0x00);
    sum = _mm_xor_si128(_mm_srli_si128(sum, 4), half);
    __m128i quotient = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, low), polynomial, 0x10), low);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(sum, _mm_clmulepi64_si128(quotient, polynomial, 0x00)), 1);
}

static int can_fold(void) { return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"); }

/* The processor's own CRC-32C takes three cycles but can begin another each cycle. So three neighbouring lanes are computed at
once; `lane_later[k][b]` is what byte k of a lane's checksum, which has value b, becomes behind a lane of zeros. */

#define LANE 256

static uint32_t lane_later[4][256];

static uint32_t behind_lane(uint32_t crc) {
    return lane_later[0][crc & 0xFF] ^ lane_later[1][crc >> 8 & 0xFF] ^ lane_later[2][crc >> 16 & 0xFF] ^ lane_later[3][crc >> 24];
}

static inline uint64_t get8_as_is(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *data, Py_ssize_t size) {
    for (; size >= 3 * LANE; data += 3 * LANE, size -= 3 * LANE) {
        uint64_t first = crc, second = 0, third = 0;
        for (int place = 0; place < LANE; place += 8) {
            first = _mm_crc32_u64(first, get8_as_is(data + place));
            second = _mm_crc32_u64(second, get8_as_is(data + LANE + place));
            third = _mm_crc32_u64(third, get8_as_is(data + 2 * LANE + place));
        }
        crc = behind_lane(behind_lane((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
    }
    uint64_t rest = crc;
    for (; size >= 8; data += 8, size -= 8)
        rest = _mm_crc32_u64(rest, get8_as_is(data));
    crc = (uint32_t)rest;
    for (; size > 0; data++, size--)
        crc = _mm_crc32_u8(crc, *data);
    return crc;
}

static int has_instruction(void) {
    static const uint8_t zeros[LANE];
    for (int byte = 0; byte < 4; byte++)
        for (uint32_t value = 0; value < 256; value++)
            lane_later[byte][value] = by_tables(castagnoli_tables, value << 8 * byte, zeros, LANE);
    return __builtin_cpu_supports("sse4.2");
}
#else
#define FOLDED_MIN PY_SSIZE_T_MAX
static uint32_t folded(uint32_t crc, const uint8_t *Py_UNUSED(data), Py_ssize_t Py_UNUSED(size)) { return crc; }
static int can_fold(void) { return 0; }
static uint32_t by_instruction(uint32_t crc, const uint8_t *Py_UNUSED(data), Py_ssize_t Py_UNUSED(size)) { return crc; }
static int has_instruction(void) { return 0; }
#endif

static int folds, instructs;

void native_prepare_crc(void) {
    fill(plain_tables, 0xEDB88320u);
    fill(castagnoli_tables, CRC_POLYNOMIAL);
    folds = can_fold();
    instructs = has_instruction();
}

uint32_t crc32_of(const uint8_t *data, Py_ssize_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    if (folds && size >= FOLDED_MIN) {
        Py_ssize_t whole = size & ~(Py_ssize_t)15;
        crc = folded(crc, data, whole);
        data += whole;
        size -= whole;
    }
    return ~by_tables(plain_tables, crc, data, size);
}

const char native_crc32_doc[] = "crc32(data)\n--\n\nThe checksum of bytes.\n\nIn Python: zlib.crc32.";

PyObject *native_crc32(PyObject *Py_UNUSED(module), PyObject *given) {
    Py_buffer data;
    if (PyObject_GetBuffer(given, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    uint32_t crc = crc32_of(data.buf, data.len);
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(crc);
}

uint32_t crc32c_of(const uint8_t *data, Py_ssize_t size) {
    return ~(instructs ? by_instruction(0xFFFFFFFFu, data, size) : by_tables(castagnoli_tables, 0xFFFFFFFFu, data, size));
}

const char native_crc32c_doc[] = "crc32c(data)\n--\n\nThe CRC-32C of bytes.\n\nIn Python: record_batches.crc32c.crc32c_plain.";

PyObject *native_crc32c(PyObject *Py_UNUSED(module), PyObject *given) {
    Py_buffer data;
    if (PyObject_GetBuffer(given, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    uint32_t crc = crc32c_of(data.buf, data.len);
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(crc);
}
