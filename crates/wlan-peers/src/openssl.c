/* OpenSSL: EVP for CCM and GCM, the RC4 functions for WEP. */
#define OPENSSL_SUPPRESS_DEPRECATED

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rc4.h>

#include "peers.h"

#define FUNCTIONS(X)       \
    X(OpenSSL_version)     \
    X(EVP_CIPHER_CTX_new)  \
    X(EVP_CIPHER_CTX_free) \
    X(EVP_CIPHER_CTX_ctrl) \
    X(EVP_CipherInit_ex)   \
    X(EVP_CipherUpdate)    \
    X(EVP_CipherFinal_ex)  \
    X(EVP_aes_128_ccm)     \
    X(EVP_aes_256_ccm)     \
    X(EVP_aes_128_gcm)     \
    X(EVP_aes_256_gcm)

static struct {
    FUNCTIONS(POINTER)
#ifndef OPENSSL_NO_RC4
    POINTER(RC4_set_key)
    POINTER(RC4)
#endif
} library;

struct openssl {
    struct setup setup;
    EVP_CIPHER_CTX **contexts; /* one per key; NULL for RC4 */
    uint8_t *keys;
};

int openssl_load(const char **text)
{
    void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        *text = dlerror();
        return 1;
    }
    FUNCTIONS(FIND)
#ifndef OPENSSL_NO_RC4
    /* RC4 is optional: a library built without it still supports CCM and GCM. */
    *(void **)&library.RC4_set_key = dlsym(handle, "RC4_set_key");
    *(void **)&library.RC4 = dlsym(handle, "RC4");
#endif
    *text = library.OpenSSL_version(OPENSSL_VERSION);
    return 0;
}

int openssl_has_rc4(void)
{
#ifndef OPENSSL_NO_RC4
    return library.RC4_set_key != NULL && library.RC4 != NULL;
#else
    return 0;
#endif
}

void openssl_free(void *opaque)
{
    struct openssl *self = opaque;
    if (self->contexts != NULL)
        for (int i = 0; i < self->setup.key_count; i++)
            library.EVP_CIPHER_CTX_free(self->contexts[i]);
    free(self->contexts);
    free(self->keys);
    free(self);
}

static int set_up(struct openssl *self)
{
    const struct setup *s = &self->setup;
    const EVP_CIPHER *cipher =
        s->mode == MODE_CCM ? (s->key_b == 16 ? library.EVP_aes_128_ccm() : library.EVP_aes_256_ccm())
                            : (s->key_b == 16 ? library.EVP_aes_128_gcm() : library.EVP_aes_256_gcm());
    self->contexts = calloc((size_t)s->key_count, sizeof *self->contexts);
    CHECK(self->contexts != NULL);
    for (int i = 0; i < s->key_count; i++) {
        EVP_CIPHER_CTX *context = self->contexts[i] = library.EVP_CIPHER_CTX_new();
        CHECK(context != NULL);
        CHECK(library.EVP_CipherInit_ex(context, cipher, NULL, NULL, NULL, !s->open));
        if (s->mode == MODE_CCM) {
            CHECK(library.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, 13, NULL));
            CHECK(library.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, s->mic_b, NULL));
        }
        CHECK(library.EVP_CipherInit_ex(context, NULL, NULL, s->keys + i * s->key_b, NULL, !s->open));
    }
    return 0;
}

void *openssl_new(const struct setup *setup)
{
    struct openssl *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->setup = *setup;
    int failed;
    if (setup->mode == MODE_RC4) {
        size_t keys_b = (size_t)(setup->key_b * setup->key_count);
        self->keys = malloc(keys_b);
        failed = self->keys == NULL || !openssl_has_rc4();
        if (!failed)
            memcpy(self->keys, setup->keys, keys_b);
    } else {
        failed = set_up(self);
    }
    self->setup.keys = NULL; /* owned by the caller */
    if (failed) {
        openssl_free(self);
        return NULL;
    }
    return self;
}

static int run_rc4(struct openssl *self, uint8_t *buffer, const struct packet *packets, int count)
{
#ifndef OPENSSL_NO_RC4
    int key_b = self->setup.key_b;
    for (int i = 0; i < count; i++) {
        const struct packet *p = &packets[i];
        uint8_t seed[16];
        RC4_KEY key;
        memcpy(seed, p->nonce, 3);
        memcpy(seed + 3, self->keys + p->key * (uint32_t)key_b, (size_t)key_b);
        library.RC4_set_key(&key, 3 + key_b, seed);
        library.RC4(&key, p->text_b + (size_t)self->setup.mic_b, buffer + p->text, buffer + p->text);
    }
    return 0;
#else
    (void)self, (void)buffer, (void)packets, (void)count;
    return __LINE__;
#endif
}

int openssl_run(void *opaque, uint8_t *buffer, const struct packet *packets, int count)
{
    struct openssl *self = opaque;
    int mode = self->setup.mode, open = self->setup.open, mic_b = self->setup.mic_b;
    if (mode == MODE_RC4)
        return run_rc4(self, buffer, packets, count);
    for (int i = 0; i < count; i++) {
        const struct packet *p = &packets[i];
        EVP_CIPHER_CTX *context = self->contexts[p->key];
        uint8_t *text = buffer + p->text, *mic = buffer + p->mic;
        int written;
        if (open)
            CHECK(library.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, mic_b, mic));
        CHECK(library.EVP_CipherInit_ex(context, NULL, NULL, NULL, p->nonce, !open));
        if (mode == MODE_CCM)
            CHECK(library.EVP_CipherUpdate(context, NULL, &written, NULL, (int)p->text_b));
        CHECK(library.EVP_CipherUpdate(context, NULL, &written, p->aad, (int)p->aad_b));
        CHECK(library.EVP_CipherUpdate(context, text, &written, text, (int)p->text_b));
        if (!open || mode == MODE_GCM)
            CHECK(library.EVP_CipherFinal_ex(context, text + written, &written));
        if (!open)
            CHECK(library.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, mic_b, mic));
    }
    return 0;
}
