/* libipsec-mb's job, burst and direct interfaces. Most functions are called through the manager, a structure of the
 * header, so the library must have the header's major version and must not be older than the header. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-ipsec-mb.h>

#include "peers.h"

/* Version 2 requires for bursts that each job has the identifiers of its session. */
#if IMB_VERSION_NUM >> 16 == 1
#define LIBRARY "libIPSec_MB.so.1"
#define SESSIONS(X)
#elif IMB_VERSION_NUM >> 16 == 2
#define LIBRARY "libIPSec_MB.so.2"
#define SESSIONS(X) X(imb_set_session)
#else
#error "written for libipsec-mb 1 and 2"
#endif

#define FUNCTIONS(X)       \
    X(imb_get_version)     \
    X(imb_get_version_str) \
    X(imb_get_errno)       \
    X(imb_get_strerror)    \
    X(alloc_mb_mgr)        \
    X(free_mb_mgr)         \
    X(init_mb_mgr_auto)    \
    SESSIONS(X)

static struct {
    FUNCTIONS(POINTER)
} library;

enum { MOST_PACKETS = IMB_MAX_BURST_SIZE };

struct schedule {
    uint32_t enc[60] __attribute__((aligned(64)));
    uint32_t dec[60] __attribute__((aligned(64)));
    struct gcm_key_data gcm __attribute__((aligned(64)));
};

struct ipsec_mb {
    struct setup setup;
    IMB_MGR *manager;
    struct schedule *schedules;
#if IMB_VERSION_NUM >> 16 == 2
    IMB_JOB session; /* a job whose identifiers all jobs have: they differ in keys and buffers only */
#endif
    uint8_t computed[MOST_PACKETS][16];
};

int ipsec_mb_load(const char **text)
{
    static char why[160];
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        *text = dlerror();
        return 1;
    }
    FUNCTIONS(FIND)
    unsigned version = library.imb_get_version();
    if (version >> 16 != IMB_VERSION_NUM >> 16 || version < IMB_VERSION_NUM) {
        snprintf(why, sizeof why, "unsupported library version %s (expected %s or later, with the same major version)",
                 library.imb_get_version_str(), IMB_VERSION_STR);
        *text = why;
        return 1;
    }
    IMB_MGR *manager = library.alloc_mb_mgr(0);
    if (manager == NULL) {
        *text = "the library cannot allocate a manager";
        return 1;
    }
    library.init_mb_mgr_auto(manager, NULL);
    int error = library.imb_get_errno(manager);
    library.free_mb_mgr(manager);
    if (error != 0) {
        snprintf(why, sizeof why, "the library does not support this CPU: %s", library.imb_get_strerror(error));
        *text = why;
        return 1;
    }
    *text = library.imb_get_version_str();
    return 0;
}

void ipsec_mb_free(void *opaque)
{
    struct ipsec_mb *self = opaque;
    if (self->manager != NULL)
        library.free_mb_mgr(self->manager);
    free(self->schedules);
    free(self);
}

static inline void fill(struct ipsec_mb *self, IMB_JOB *job, uint8_t *buffer, const struct packet *p, uint8_t *mic)
{
    const struct setup *setup = &self->setup;
    struct schedule *s = &self->schedules[p->key];
    job->cipher_direction = setup->open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
    job->key_len_in_bytes = (uint64_t)setup->key_b;
    job->iv = p->nonce;
    job->src = buffer + p->text;
    job->dst = buffer + p->text;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = p->text_b;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = p->text_b;
    job->auth_tag_output = mic;
    job->auth_tag_output_len_in_bytes = (uint64_t)setup->mic_b;
#if IMB_VERSION_NUM >> 16 == 2
    job->suite_id[0] = self->session.suite_id[0];
    job->suite_id[1] = self->session.suite_id[1];
    job->session_id = self->session.session_id;
#endif
    if (setup->mode == MODE_CCM) {
        job->cipher_mode = IMB_CIPHER_CCM;
        job->hash_alg = IMB_AUTH_AES_CCM;
        job->chain_order = setup->open ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
        job->enc_keys = s->enc;
        job->dec_keys = s->enc;
        job->iv_len_in_bytes = 13;
        job->u.CCM.aad = p->aad;
        job->u.CCM.aad_len_in_bytes = p->aad_b;
    } else {
        job->cipher_mode = IMB_CIPHER_GCM;
        job->hash_alg = IMB_AUTH_AES_GMAC;
        job->chain_order = setup->open ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
        job->enc_keys = &s->gcm;
        job->dec_keys = &s->gcm;
        job->iv_len_in_bytes = 12;
        job->u.GCM.aad = p->aad;
        job->u.GCM.aad_len_in_bytes = p->aad_b;
    }
}

void *ipsec_mb_new(const struct setup *setup)
{
    struct ipsec_mb *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->setup = *setup;
    self->manager = library.alloc_mb_mgr(0);
    self->schedules = aligned_alloc(64, sizeof(struct schedule) * (size_t)setup->key_count);
    if (self->manager == NULL || self->schedules == NULL || setup->mode == MODE_RC4) {
        ipsec_mb_free(self);
        return NULL;
    }
    library.init_mb_mgr_auto(self->manager, NULL);
    for (int i = 0; i < setup->key_count; i++) {
        struct schedule *s = &self->schedules[i];
        const uint8_t *key = setup->keys + i * setup->key_b;
        if (setup->key_b == 16) {
            IMB_AES_KEYEXP_128(self->manager, key, s->enc, s->dec);
            IMB_AES128_GCM_PRE(self->manager, key, &s->gcm);
        } else {
            IMB_AES_KEYEXP_256(self->manager, key, s->enc, s->dec);
            IMB_AES256_GCM_PRE(self->manager, key, &s->gcm);
        }
    }
    self->setup.keys = NULL; /* owned by the caller */
#if IMB_VERSION_NUM >> 16 == 2
    fill(self, &self->session, self->computed[0], &(struct packet){0}, self->computed[0]);
    library.imb_set_session(self->manager, &self->session);
#endif
    return self;
}

static inline uint8_t *mic_of(struct ipsec_mb *self, uint8_t *buffer, const struct packet *packets, int i)
{
    return self->setup.open ? self->computed[i] : buffer + packets[i].mic;
}

static int run_jobs(struct ipsec_mb *self, uint8_t *buffer, const struct packet *packets, int count)
{
    IMB_MGR *m = self->manager;
    IMB_JOB *job;
    int done = 0;
    for (int i = 0; i < count; i++) {
        job = IMB_GET_NEXT_JOB(m);
        fill(self, job, buffer, &packets[i], mic_of(self, buffer, packets, i));
        for (job = IMB_SUBMIT_JOB_NOCHECK(m); job != NULL; job = IMB_GET_COMPLETED_JOB(m))
            done++;
    }
    while ((job = IMB_FLUSH_JOB(m)) != NULL)
        done++;
    CHECK(done == count);
    return 0;
}

static int run_burst(struct ipsec_mb *self, uint8_t *buffer, const struct packet *packets, int count)
{
    IMB_MGR *m = self->manager;
    IMB_JOB *jobs[MOST_PACKETS];
    CHECK((int)IMB_GET_NEXT_BURST(m, (uint32_t)count, jobs) == count);
    for (int i = 0; i < count; i++)
        fill(self, jobs[i], buffer, &packets[i], mic_of(self, buffer, packets, i));
    int done = (int)IMB_SUBMIT_BURST_NOCHECK(m, (uint32_t)count, jobs);
    while (done < count) {
        uint32_t more = IMB_FLUSH_BURST(m, (uint32_t)(count - done), jobs);
        CHECK(more > 0);
        done += (int)more;
    }
    return 0;
}

static int run_direct(struct ipsec_mb *self, uint8_t *buffer, const struct packet *packets, int count)
{
    IMB_MGR *m = self->manager;
    int open = self->setup.open;
    aes_gcm_enc_dec_t run = self->setup.key_b == 16 ? (open ? m->gcm128_dec : m->gcm128_enc)
                                                    : (open ? m->gcm256_dec : m->gcm256_enc);
    struct gcm_context_data context;
    for (int i = 0; i < count; i++) {
        const struct packet *p = &packets[i];
        uint8_t *text = buffer + p->text;
        run(&self->schedules[p->key].gcm, &context, text, text, p->text_b, p->nonce, p->aad, p->aad_b,
            mic_of(self, buffer, packets, i), 16);
    }
    return 0;
}

int ipsec_mb_run(void *opaque, uint8_t *buffer, const struct packet *packets, int count)
{
    struct ipsec_mb *self = opaque;
    CHECK(count <= MOST_PACKETS);
    int interface = self->setup.interface;
    int failed = interface == BY_JOB     ? run_jobs(self, buffer, packets, count)
                 : interface == BY_BURST ? run_burst(self, buffer, packets, count)
                                         : run_direct(self, buffer, packets, count);
    if (failed != 0)
        return failed;
    if (self->setup.open)
        for (int i = 0; i < count; i++)
            CHECK(memcmp(self->computed[i], buffer + packets[i].mic, (size_t)self->setup.mic_b) == 0);
    return 0;
}
