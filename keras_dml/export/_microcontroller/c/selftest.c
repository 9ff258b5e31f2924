/* Compares this library with golden values, and checks that invalid inputs are refused. The program
 * returns 0 if the library is correct, and 1 if it is not. */
#include "golden.h"
#include "kd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures;
static float embeddings[GOLDEN_COUNT][KD_EMBEDDING];
static float invalid[GOLDEN_STEPS * KD_CHANNELS];
static kd_gallery gallery;

static void expect(const char *what, int is_true)
{
    if (!is_true) {
        printf("failed: %s\n", what);
        failures++;
    }
}

/* Returns the RMS difference between two embeddings, divided by the RMS of the second one. */
static double difference(const float *actual, const float *expected)
{
    double errors = 0.0, squares = 0.0;
    for (int32_t i = 0; i < KD_EMBEDDING; i++) {
        double error = (double)actual[i] - (double)expected[i];
        errors += error * error;
        squares += (double)expected[i] * (double)expected[i];
    }
    return sqrt(errors / (squares > 0.0 ? squares : 1.0));
}

static void check_embeddings(void)
{
    double largest = 0.0;
    for (int32_t i = 0; i < GOLDEN_COUNT; i++) {
        int status = kd_embed(golden_signals[i], golden_lengths[i], embeddings[i]);
        double next = difference(embeddings[i], golden_embeddings[i]);
        expect("kd_embed accepts a golden recording", status == KD_OK);
        expect("kd_embed computes a golden embedding", next <= GOLDEN_TOLERANCE);
        largest = next > largest ? next : largest;
    }
    printf("difference %.3g\n", largest);
}

static void check_distances(void)
{
    for (int32_t i = 0; i < GOLDEN_COUNT; i++) {
        for (int32_t j = 0; j < GOLDEN_COUNT; j++) {
            float distance = -1e9f;
            int status = kd_distance(golden_embeddings[i], golden_embeddings[j], &distance);
            expect("kd_distance accepts golden embeddings", status == KD_OK);
            expect("kd_distance computes a golden distance",
                   fabsf(distance - golden_distances[i][j]) <= GOLDEN_DISTANCE_TOLERANCE);
        }
    }
}

static void check_refusals(void)
{
    float embedding[KD_EMBEDDING], distance;
    int32_t length = golden_lengths[0];
    const float bad[] = {NAN, INFINITY, -INFINITY};
    expect("no recording", kd_embed(NULL, length, embedding) == KD_ERROR_NULL);
    expect("no embedding", kd_embed(golden_signals[0], length, NULL) == KD_ERROR_NULL);
    expect("negative length", kd_embed(golden_signals[0], -1, embedding) == KD_ERROR_LENGTH);
    expect("too short", kd_embed(golden_signals[0], KD_MIN_STEPS - 1, embedding) == KD_ERROR_LENGTH);
    expect("too long", kd_embed(golden_signals[0], KD_MAX_STEPS + 1, embedding) == KD_ERROR_LENGTH);
    for (int32_t i = 0; i < 3; i++) {
        memcpy(invalid, golden_signals[0], (size_t)length * KD_CHANNELS * sizeof(float));
        invalid[length * KD_CHANNELS - 1] = bad[i];
        expect("a value that is not finite", kd_embed(invalid, length, embedding) == KD_ERROR_VALUE);
        memcpy(embedding, golden_embeddings[0], sizeof embedding);
        embedding[KD_EMBEDDING - 1] = bad[i];
        expect("an embedding that is not finite",
               kd_distance(embedding, golden_embeddings[0], &distance) == KD_ERROR_VALUE);
    }
}

static void check_gallery(void)
{
    float distance = -1e9f;
    memset(&gallery, 0, sizeof gallery);
    expect("an empty gallery",
           kd_nearest(&gallery, 7, embeddings[0], &distance) == KD_ERROR_EMPTY);
    for (int32_t i = 0; i < KD_CAPACITY; i++) {
        expect("kd_enroll", kd_enroll(&gallery, i % 2, embeddings[i % GOLDEN_COUNT]) == KD_OK);
    }
    expect("a full gallery", kd_enroll(&gallery, 0, embeddings[0]) == KD_ERROR_FULL);
    expect("kd_nearest", kd_nearest(&gallery, 0, embeddings[0], &distance) == KD_OK);
    expect("the nearest embedding is the same one",
           fabsf(distance - golden_distances[0][0]) <= GOLDEN_DISTANCE_TOLERANCE);
    expect("kd_remove", kd_remove(&gallery, 0) == KD_OK && gallery.count == KD_CAPACITY / 2);
    expect("a removed person",
           kd_nearest(&gallery, 0, embeddings[0], &distance) == KD_ERROR_EMPTY);
}

#if KD_STREAMS
static void check_streaming(void)
{
    float embedding[KD_EMBEDDING];
    kd_begin();
    expect("a stream that is too short", kd_finish(embedding) == KD_ERROR_LENGTH);
    for (int32_t t = 0; t < golden_lengths[0]; t++) {
        expect("kd_push", kd_push(golden_signals[0] + t * KD_CHANNELS) == KD_OK);
    }
    expect("kd_finish", kd_finish(embedding) == KD_OK);
    expect("a stream gives the embedding of the whole recording",
           memcmp(embedding, embeddings[0], sizeof embedding) == 0);
}
#endif

#if KD_TRUNK
static void check_trunk(void)
{
    static int8_t input[KD_TRUNK_INPUT];
    static float embedding[KD_EMBEDDING];
    const float *signal = golden_signals[GOLDEN_TRUNK];
    int largest = 0;
    expect("kd_trunk_input accepts a golden recording",
           kd_trunk_input(signal, KD_MAX_STEPS, input) == KD_OK);
    for (int32_t i = 0; i < KD_TRUNK_INPUT; i++) {
        int error = input[i] - golden_trunk_input[i];
        error = error < 0 ? -error : error;
        largest = error > largest ? error : largest;
    }
    expect("kd_trunk_input computes the golden input", largest <= 1);
    expect("kd_trunk_embedding accepts the golden output",
           kd_trunk_embedding(golden_trunk_output, embedding) == KD_OK);
    expect("kd_trunk_embedding computes the golden embedding",
           difference(embedding, golden_trunk_embedding) <= 1e-5);
    expect("another length", kd_trunk_input(signal, KD_MAX_STEPS - 1, input) == KD_ERROR_LENGTH);
    expect("no input", kd_trunk_input(signal, KD_MAX_STEPS, NULL) == KD_ERROR_NULL);
    expect("no output", kd_trunk_embedding(NULL, embedding) == KD_ERROR_NULL);
}
#endif

int main(void)
{
    check_embeddings();
    check_distances();
    check_refusals();
    check_gallery();
#if KD_STREAMS
    check_streaming();
#endif
#if KD_TRUNK
    check_trunk();
#endif
    printf(failures == 0 ? "correct\n" : "not correct\n");
    return failures != 0;
}
