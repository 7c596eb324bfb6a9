/* The interface of the C shim of every library to `library.rs`. */
#ifndef PEERS_H
#define PEERS_H

#include <stddef.h>
#include <stdint.h>

/* A frame in the form that a library without knowledge of 802.11 processes. */
struct packet {
    uint8_t nonce[16]; /* 13 octets for CCM, 12 for GCM; for RC4 the 3-octet IV */
    uint8_t aad[32];
    uint32_t aad_b;
    uint32_t text; /* offset in the buffer; encrypted or decrypted in place */
    uint32_t text_b;
    uint32_t mic; /* offset; sealing writes it, opening compares it; RC4 encrypts it with the text */
    uint32_t key; /* index */
};

struct setup {
    int mode;
    int interface; /* libipsec-mb only */
    int open;
    const uint8_t *keys;
    int key_b;
    int key_count;
    int mic_b;
};

enum { MODE_CCM = 0, MODE_GCM = 1, MODE_RC4 = 2 };
enum { BY_JOB = 0, BY_BURST = 1, DIRECT = 2 };

/* Each library has these functions, with its own prefix:
 *
 *   int load(const char **text)                      0 and the version, or 1 and the reason for failure; called once
 *   void *new(const struct setup *)                  NULL on failure
 *   int run(void *, uint8_t *buffer, const struct packet *, int count)
 *                                                    0, or the line that failed; opening fails on a wrong MIC
 *   void free(void *)
 *
 * Everything that does not depend on the packet (contexts, key schedules, lengths of nonce and MIC) is set up once. */

#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* A table of pointers to the library's functions, with the names and types of the header. */
#define POINTER(name) __typeof__(name) *name;
#define FIND(name)                                                  \
    *(void **)&library.name = dlsym(handle, #name);                 \
    if (library.name == NULL) {                                     \
        *text = "the library lacks " #name;                         \
        return 1;                                                   \
    }

#endif
