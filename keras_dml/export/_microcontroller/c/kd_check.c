/* Checks of inputs. */
#include "kd_internal.h"

#include <stddef.h>
#include <string.h>

int kd_is_finite(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7f800000u) != 0x7f800000u;
}

int kd_are_finite(const float *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (!kd_is_finite(values[i])) {
            return 0;
        }
    }
    return 1;
}

int kd_check(const float *signal, int32_t length)
{
    if (signal == NULL) {
        return KD_ERROR_NULL;
    }
    if (length < KD_MIN_STEPS || length > KD_MAX_STEPS) {
        return KD_ERROR_LENGTH;
    }
    return kd_are_finite(signal, length * KD_CHANNELS) ? KD_OK : KD_ERROR_VALUE;
}
