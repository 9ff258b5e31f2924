/* Embeddings of recordings, and distances between embeddings, in C99.
 *
 * Two recordings of the same person have a small distance. kd_embed computes an embedding of a
 * recording, kd_enroll stores embeddings of people, and kd_nearest computes the smallest distance
 * between a new embedding and the stored embeddings of a person. Accept the person if this distance
 * is at most a threshold. kd_model.h lists the thresholds of the model's card.
 *
 * The functions allocate no memory. They use static buffers, so only one thread may call them.
 * Every function returns KD_OK or an error. After an error, no output is changed, except where a
 * comment says otherwise.
 */
#ifndef KD_H
#define KD_H

#include <stdint.h>

#include "kd_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of embeddings in a gallery. An embedding takes 4 * KD_EMBEDDING bytes. */
#ifndef KD_CAPACITY
#define KD_CAPACITY 8
#endif

enum {
    KD_OK = 0,
    KD_ERROR_NULL = 1,    /* a pointer is NULL */
    KD_ERROR_LENGTH = 2,  /* the length is below KD_MIN_STEPS or above KD_MAX_STEPS */
    KD_ERROR_VALUE = 3,   /* a number is NaN, infinite or too large for the computation */
    KD_ERROR_FULL = 4,    /* the gallery has no room */
    KD_ERROR_EMPTY = 5,   /* the gallery has no embedding of this person */
    KD_ERROR_GALLERY = 6  /* the gallery is damaged: its count is invalid */
};

typedef struct {
    int32_t count; /* number of embeddings; 0 for an empty gallery */
    int32_t people[KD_CAPACITY];
    float embeddings[KD_CAPACITY][KD_EMBEDDING];
} kd_gallery;

/* Checks a recording of `length` time steps with KD_CHANNELS numbers each, one step after another.
 * The length must be valid, and all numbers must be finite. */
int kd_check(const float *signal, int32_t length);

/* Checks a recording and writes its embedding, KD_EMBEDDING numbers. After an error, the embedding
 * may be changed. */
int kd_embed(const float *signal, int32_t length, float *embedding);

/* Writes the distance between two embeddings. The smaller, the more similar. */
int kd_distance(const float *a, const float *b, float *distance);

/* Adds an embedding of a person to a gallery. The number `person` is chosen by the caller. */
int kd_enroll(kd_gallery *gallery, int32_t person, const float *embedding);

/* Writes the smallest distance between an embedding and the embeddings of a person. */
int kd_nearest(const kd_gallery *gallery, int32_t person, const float *embedding, float *distance);

/* Removes all embeddings of a person from a gallery, and overwrites them with zeros. */
int kd_remove(kd_gallery *gallery, int32_t person);

#if KD_STREAMS
/* The embedding of a recording that arrives step by step. kd_push adds a time step of KD_CHANNELS
 * numbers. kd_finish writes the same embedding that kd_embed computes from all steps, and more
 * steps may follow. kd_embed calls these functions, so it discards a recording that was begun. */
void kd_begin(void);
int kd_push(const float *step);
int kd_finish(float *embedding);
#endif

#if KD_TRUNK
/* The convolutions by TensorFlow Lite Micro, instead of kd_embed. kd_trunk_input checks a recording
 * of exactly KD_MAX_STEPS time steps and writes the input of trunk.tflite, KD_TRUNK_INPUT numbers.
 * kd_trunk_embedding converts the output of trunk.tflite, KD_TRUNK_OUTPUT numbers, to an
 * embedding. */
int kd_trunk_input(const float *signal, int32_t length, int8_t *input);
int kd_trunk_embedding(const int8_t *output, float *embedding);
#endif

#ifdef __cplusplus
}
#endif

#endif
