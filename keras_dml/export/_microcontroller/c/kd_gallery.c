/* Embeddings of enrolled people. */
#include "kd_internal.h"

#include <stddef.h>
#include <string.h>

static int check(const kd_gallery *gallery)
{
    if (gallery == NULL) {
        return KD_ERROR_NULL;
    }
    return gallery->count < 0 || gallery->count > KD_CAPACITY ? KD_ERROR_GALLERY : KD_OK;
}

int kd_enroll(kd_gallery *gallery, int32_t person, const float *embedding)
{
    int status = check(gallery);
    if (status != KD_OK) {
        return status;
    }
    if (embedding == NULL) {
        return KD_ERROR_NULL;
    }
    if (!kd_are_finite(embedding, KD_EMBEDDING)) {
        return KD_ERROR_VALUE;
    }
    if (gallery->count == KD_CAPACITY) {
        return KD_ERROR_FULL;
    }
    memcpy(gallery->embeddings[gallery->count], embedding, sizeof gallery->embeddings[0]);
    gallery->people[gallery->count] = person;
    gallery->count++;
    return KD_OK;
}

int kd_nearest(const kd_gallery *gallery, int32_t person, const float *embedding, float *distance)
{
    int status = check(gallery);
    float smallest = 0.0f;
    int is_found = 0;
    if (status != KD_OK) {
        return status;
    }
    if (embedding == NULL || distance == NULL) {
        return KD_ERROR_NULL;
    }
    for (int32_t i = 0; i < gallery->count; i++) {
        float next;
        if (gallery->people[i] != person) {
            continue;
        }
        status = kd_distance(embedding, gallery->embeddings[i], &next);
        if (status != KD_OK) {
            return status;
        }
        if (!is_found || next < smallest) {
            smallest = next;
        }
        is_found = 1;
    }
    if (!is_found) {
        return KD_ERROR_EMPTY;
    }
    *distance = smallest;
    return KD_OK;
}

int kd_remove(kd_gallery *gallery, int32_t person)
{
    int status = check(gallery);
    int32_t kept = 0;
    if (status != KD_OK) {
        return status;
    }
    for (int32_t i = 0; i < gallery->count; i++) {
        if (gallery->people[i] != person) {
            gallery->people[kept] = gallery->people[i];
            memmove(gallery->embeddings[kept], gallery->embeddings[i],
                    sizeof gallery->embeddings[0]);
            kept++;
        }
    }
    if (kept == gallery->count) {
        return KD_ERROR_EMPTY;
    }
    for (int32_t i = kept; i < gallery->count; i++) {
        gallery->people[i] = 0;
        memset(gallery->embeddings[i], 0, sizeof gallery->embeddings[0]);
    }
    gallery->count = kept;
    return KD_OK;
}
