/* Functions that the source files of this library share. */
#ifndef KD_INTERNAL_H
#define KD_INTERNAL_H

#include "kd.h"

/* Returns whether a number is finite. The function reads bits, so that it also works with
 * -ffast-math, for which compilers assume that all numbers are finite. */
int kd_is_finite(float value);

/* Returns whether all numbers are finite. */
int kd_are_finite(const float *values, int32_t count);

/* Measures what the features of a whole recording depend on. */
int kd_prepare(const float *signal, int32_t length);

/* Converts a time step of KD_CHANNELS numbers to KD_FEATURES normalized numbers. */
void kd_features(const float *step, float *features);

#ifdef KD_KNOTS
/* Buffer for the activations of one filter of the last layer. */
extern float kd_column[KD_COLUMN];

/* Sorts numbers, and writes their quantile function at the KD_KNOTS knots. */
void kd_quantiles(float *values, int32_t count, float *quantiles);
#endif

#endif
