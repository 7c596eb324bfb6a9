/* What the C side of every library looks like to `library.rs`. */
#ifndef PEERS_H
#define PEERS_H

#include <stddef.h>
#include <stdint.h>

/* A frame as a library takes it that knows nothing of 802.11. */
struct packet {
    uint8_t nonce[16]; /* 13 octets for CCM, 12 for GCM, the IV of 3 for RC4 */
    uint8_t aad[32];
    uint32_t aad_b;
    uint32_t text; /* offset in the buffer; enciphered or deciphered in place */
    uint32_t text_b;
    uint32_t mic; /* offset; written by sealing, compared by opening; RC4 enciphers it with the text */
    uint32_t key; /* index */
};

struct setup {
    int mode;
    int interface; /* of libipsec-mb */
    int open;
    const uint8_t *keys;
    int key_b;
    int key_count;
    int mic_b;
};

enum { MODE_CCM = 0, MODE_GCM = 1, MODE_RC4 = 2 };
enum { BY_JOB = 0, BY_BURST = 1, DIRECT = 2 };

/* Each library has, with its own prefix:
 *
 *   int load(const char **text)                      0 and its version, or 1 and why it cannot be used; called once
 *   void *new(const struct setup *)                  NULL if that is not possible
 *   int run(void *, uint8_t *buffer, const struct packet *, int count)
 *                                                    0, or the line where it failed; opening fails on a wrong MIC
 *   void free(void *)
 *
 * Everything that does not depend on the packet (contexts, key schedules, lengths of nonce and MIC) is set up once. */

#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

/* A table of the library's functions, by their own names and of the types that the header gives them. */
#define POINTER(name) __typeof__(name) *name;
#define FIND(name)                                                  \
    *(void **)&library.name = dlsym(handle, #name);                 \
    if (library.name == NULL) {                                     \
        *text = "the library lacks " #name;                         \
        return 1;                                                   \
    }

#endif
