/* OpenSSL's EVP and libipsec-mb's job, burst and direct interfaces, over an array of packets.
 *
 * Everything that does not depend on the packet (contexts, key schedules, lengths of nonce and MIC) is set up once. Every
 * function returns 0, or the line where it failed; opening fails on a wrong MIC. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

struct packet {
    const uint8_t *nonce; /* 13 octets for CCM, 12 for GCM */
    const uint8_t *aad;
    uint8_t *text; /* enciphered or deciphered in place */
    uint8_t *mic;  /* written by sealing, compared by opening */
    uint32_t aad_b;
    uint32_t text_b;
    uint32_t key; /* index */
};

enum { MODE_CCM = 0, MODE_GCM = 1 };

#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

const char *openssl_version(void) { return OpenSSL_version(OPENSSL_VERSION); }
const char *ipsec_mb_version(void) { return imb_get_version_str(); }

/* ---- OpenSSL ---- */

struct openssl {
    EVP_CIPHER_CTX **contexts; /* one for each key */
    int mode, mic_b, open;
};

void *openssl_new(int mode, const uint8_t *keys, int key_b, int key_count, int mic_b, int open)
{
    struct openssl *self = calloc(1, sizeof *self);
    self->contexts = calloc((size_t)key_count, sizeof *self->contexts);
    self->mode = mode;
    self->mic_b = mic_b;
    self->open = open;
    const EVP_CIPHER *cipher = mode == MODE_CCM ? (key_b == 16 ? EVP_aes_128_ccm() : EVP_aes_256_ccm())
                                           : (key_b == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm());
    for (int i = 0; i < key_count; i++) {
        EVP_CIPHER_CTX *context = self->contexts[i] = EVP_CIPHER_CTX_new();
        int ok = EVP_CipherInit_ex(context, cipher, NULL, NULL, NULL, !open);
        if (mode == MODE_CCM) {
            ok = ok && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 13, NULL);
            ok = ok && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, mic_b, NULL);
        }
        ok = ok && EVP_CipherInit_ex(context, NULL, NULL, keys + i * key_b, NULL, !open);
        if (!ok)
            return NULL;
    }
    return self;
}

int openssl_run(void *opaque, struct packet *packets, int count)
{
    struct openssl *self = opaque;
    for (int i = 0; i < count; i++) {
        struct packet *p = &packets[i];
        EVP_CIPHER_CTX *context = self->contexts[p->key];
        int written;
        if (self->open)
            CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, self->mic_b, p->mic));
        CHECK(EVP_CipherInit_ex(context, NULL, NULL, NULL, p->nonce, !self->open));
        if (self->mode == MODE_CCM)
            CHECK(EVP_CipherUpdate(context, NULL, &written, NULL, (int)p->text_b));
        CHECK(EVP_CipherUpdate(context, NULL, &written, p->aad, (int)p->aad_b));
        CHECK(EVP_CipherUpdate(context, p->text, &written, p->text, (int)p->text_b));
        if (!self->open || self->mode == MODE_GCM)
            CHECK(EVP_CipherFinal_ex(context, p->text + written, &written));
        if (!self->open)
            CHECK(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, self->mic_b, p->mic));
    }
    return 0;
}

/* ---- libipsec-mb ---- */

enum { BY_JOB = 0, BY_BURST = 1, DIRECT = 2 };
enum { MOST_PACKETS = IMB_MAX_BURST_SIZE };

struct schedule {
    uint32_t enc[60] __attribute__((aligned(64)));
    uint32_t dec[60] __attribute__((aligned(64)));
    struct gcm_key_data gcm __attribute__((aligned(64)));
};

struct ipsec_mb {
    IMB_MGR *manager;
    struct schedule *schedules;
    int mode, interface, key_b, mic_b, open;
    uint8_t computed[MOST_PACKETS][16];
};

void *ipsec_mb_new(int mode, int interface, const uint8_t *keys, int key_b, int key_count, int mic_b, int open)
{
    struct ipsec_mb *self = calloc(1, sizeof *self);
    self->mode = mode;
    self->interface = interface;
    self->key_b = key_b;
    self->mic_b = mic_b;
    self->open = open;
    self->manager = alloc_mb_mgr(0);
    if (self->manager == NULL)
        return NULL;
    init_mb_mgr_auto(self->manager, NULL);
    self->schedules = aligned_alloc(64, sizeof(struct schedule) * (size_t)key_count);
    for (int i = 0; i < key_count; i++) {
        struct schedule *s = &self->schedules[i];
        const uint8_t *key = keys + i * key_b;
        if (key_b == 16) {
            IMB_AES_KEYEXP_128(self->manager, key, s->enc, s->dec);
            IMB_AES128_GCM_PRE(self->manager, key, &s->gcm);
        } else {
            IMB_AES_KEYEXP_256(self->manager, key, s->enc, s->dec);
            IMB_AES256_GCM_PRE(self->manager, key, &s->gcm);
        }
    }
    return self;
}

static inline void fill(struct ipsec_mb *self, IMB_JOB *job, struct packet *p, uint8_t *mic)
{
    struct schedule *s = &self->schedules[p->key];
    job->cipher_direction = self->open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
    job->key_len_in_bytes = (uint64_t)self->key_b;
    job->iv = p->nonce;
    job->src = p->text;
    job->dst = p->text;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = p->text_b;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = p->text_b;
    job->auth_tag_output = mic;
    job->auth_tag_output_len_in_bytes = (uint64_t)self->mic_b;
    if (self->mode == MODE_CCM) {
        job->cipher_mode = IMB_CIPHER_CCM;
        job->hash_alg = IMB_AUTH_AES_CCM;
        job->chain_order = self->open ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
        job->enc_keys = s->enc;
        job->dec_keys = s->enc;
        job->iv_len_in_bytes = 13;
        job->u.CCM.aad = p->aad;
        job->u.CCM.aad_len_in_bytes = p->aad_b;
    } else {
        job->cipher_mode = IMB_CIPHER_GCM;
        job->hash_alg = IMB_AUTH_AES_GMAC;
        job->chain_order = self->open ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
        job->enc_keys = &s->gcm;
        job->dec_keys = &s->gcm;
        job->iv_len_in_bytes = 12;
        job->u.GCM.aad = p->aad;
        job->u.GCM.aad_len_in_bytes = p->aad_b;
    }
}

static int run_jobs(struct ipsec_mb *self, struct packet *packets, int count)
{
    IMB_MGR *m = self->manager;
    IMB_JOB *job;
    int done = 0;
    for (int i = 0; i < count; i++) {
        job = IMB_GET_NEXT_JOB(m);
        fill(self, job, &packets[i], self->open ? self->computed[i] : packets[i].mic);
        for (job = IMB_SUBMIT_JOB_NOCHECK(m); job != NULL; job = IMB_GET_COMPLETED_JOB(m))
            done++;
    }
    while ((job = IMB_FLUSH_JOB(m)) != NULL)
        done++;
    CHECK(done == count);
    return 0;
}

static int run_burst(struct ipsec_mb *self, struct packet *packets, int count)
{
    IMB_MGR *m = self->manager;
    IMB_JOB *jobs[MOST_PACKETS];
    CHECK((int)IMB_GET_NEXT_BURST(m, (uint32_t)count, jobs) == count);
    for (int i = 0; i < count; i++)
        fill(self, jobs[i], &packets[i], self->open ? self->computed[i] : packets[i].mic);
    int done = (int)IMB_SUBMIT_BURST_NOCHECK(m, (uint32_t)count, jobs);
    while (done < count) {
        uint32_t more = IMB_FLUSH_BURST(m, (uint32_t)(count - done), jobs);
        CHECK(more > 0);
        done += (int)more;
    }
    return 0;
}

static int run_direct(struct ipsec_mb *self, struct packet *packets, int count)
{
    IMB_MGR *m = self->manager;
    aes_gcm_enc_dec_t run = self->key_b == 16 ? (self->open ? m->gcm128_dec : m->gcm128_enc)
                                              : (self->open ? m->gcm256_dec : m->gcm256_enc);
    struct gcm_context_data context;
    for (int i = 0; i < count; i++) {
        struct packet *p = &packets[i];
        run(&self->schedules[p->key].gcm, &context, p->text, p->text, p->text_b, p->nonce, p->aad,
            p->aad_b, self->open ? self->computed[i] : p->mic, 16);
    }
    return 0;
}

int ipsec_mb_run(void *opaque, struct packet *packets, int count)
{
    struct ipsec_mb *self = opaque;
    CHECK(count <= MOST_PACKETS);
    int failed = self->interface == BY_JOB     ? run_jobs(self, packets, count)
                 : self->interface == BY_BURST ? run_burst(self, packets, count)
                                            : run_direct(self, packets, count);
    CHECK(failed == 0);
    if (self->open)
        for (int i = 0; i < count; i++)
            CHECK(memcmp(self->computed[i], packets[i].mic, (size_t)self->mic_b) == 0);
    return 0;
}
