/* Tables of a model with quantile embeddings, which kd_tables.c defines. */
#ifndef KD_TABLES_H
#define KD_TABLES_H

#include "kd_model.h"

#include <stdint.h>

typedef struct {
    int32_t channel;
    int32_t is_bounded; /* whether the channel is scaled and bounded by tanh */
    float scale;
    float offset;
} kd_scaling;

typedef struct {
    int32_t taps; /* time steps under the kernel */
    int32_t inputs;
    int32_t filters;
    int32_t pool; /* time steps that are averaged */
    float most;   /* largest integer of the output */
    const int8_t *weights; /* (filters, taps, inputs) */
    const float *scales;   /* of each filter's sum */
    const float *biases;
    const float *slopes; /* of each filter's negative values (PReLU) */
} kd_layer;

extern const float kd_means[KD_FEATURES];
extern const float kd_stddevs[KD_FEATURES];
extern const kd_scaling kd_scalings[KD_FEATURES];
extern const kd_layer kd_layers[KD_LAYERS];
extern const float kd_knots[KD_KNOTS];

#endif
