#include "lockstep/nets/kernels/batch_norm.h"

#include "lockstep/nets/kernels/vector.h"

namespace lockstep::nets::kernels::LOCKSTEP_LANES {
namespace {

// Sums over rows are taken in float over a run of rows that fits the L1 cache, and from there in
// double. Rows are cut into a fixed number of parts whose sums are added in order at the end.
constexpr std::int64_t kRun = 32;
constexpr std::int64_t kParts = 16;

std::int64_t part_begin(const NormShape& shape, std::int64_t part) {
  return shape.rows * part / kParts;
}

/// Adds `terms(channel, row, first, second)`, over all rows, to two sums per channel: total[0][c]
/// and total[1][c], where `terms` adds its two terms for kLanes channels to `first` and `second`.
template <class Terms>
void sum_rows(const NormShape& shape, double* first_total, double* second_total, double* workspace,
              int threads, Terms terms) {
  const std::int64_t channels = shape.channels;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t part = 0; part < kParts; ++part) {
    double* sums = workspace + part * 2 * channels;
    for (std::int64_t c = 0; c < 2 * channels; ++c) sums[c] = 0;
    const std::int64_t end = part_begin(shape, part + 1);
    for (std::int64_t run = part_begin(shape, part); run < end; run += kRun) {
      const std::int64_t stop = run + kRun < end ? run + kRun : end;
      for (std::int64_t c = 0; c < channels; c += kLanes) {
        // Two of each, so that an addition need not wait for the one before.
        Floats first[2] = {}, second[2] = {};
        std::int64_t row = run;
        for (; row + 1 < stop; row += 2) {
          terms(c, row * channels + c, first[0], second[0]);
          terms(c, (row + 1) * channels + c, first[1], second[1]);
        }
        if (row < stop) terms(c, row * channels + c, first[0], second[0]);
        for (int lane = 0; lane < kLanes; ++lane) {
          sums[c + lane] += double{first[0][lane]} + double{first[1][lane]};
          sums[channels + c + lane] += double{second[0][lane]} + double{second[1][lane]};
        }
      }
    }
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    double first = 0, second = 0;
    for (std::int64_t part = 0; part < kParts; ++part) {
      first += workspace[part * 2 * channels + c];
      second += workspace[part * 2 * channels + channels + c];
    }
    first_total[c] = first;
    second_total[c] = second;
  }
}

/// Calls visit(channel, element) for every kLanes channels of every row.
template <class Visit>
void for_each_element(const NormShape& shape, int threads, Visit visit) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t c = 0; c < shape.channels; c += kLanes) visit(c, row * shape.channels + c);
  }
}

/// 0 if `output` <= 0, else `value`: NaNs must pass, or a broken run would look sound.
[[gnu::always_inline]] inline Floats unless_zero(Floats output, Floats value) {
  return output <= 0 ? Floats{} : value;
}

std::size_t norm_workspace(const NormShape& shape) {
  return static_cast<std::size_t>((kParts + 1) * 2 * shape.channels);
}

void channel_moments(const NormShape& shape, const float* input, float* mean, float* variance,
                     double* workspace, int threads) {
  // Relative to the first row: sum of squares minus square of sum then loses no digits where the
  // mean is large against the deviation.
  const float* origin = input;
  double* sum = workspace + kParts * 2 * shape.channels;
  double* squares = sum + shape.channels;
  sum_rows(shape, sum, squares, workspace, threads,
           [&](std::int64_t c, std::int64_t element, Floats& first, Floats& second) {
             const Floats value = load(input + element) - load(origin + c);
             first += value;
             second += value * value;
           });
  const auto count = static_cast<double>(shape.rows);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const double offset = sum[c] / count;
    const double spread = squares[c] / count - offset * offset;
    mean[c] = static_cast<float>(origin[c] + offset);
    variance[c] = static_cast<float>(spread > 0 ? spread : 0);
  }
}

void scale_shift(const NormShape& shape, const float* input, const float* scale, const float* shift,
                 const NormOutput& then, float* output, int threads) {
  const auto affine = [=](std::int64_t c, std::int64_t element) {
    return load(input + element) * load(scale + c) + load(shift + c);
  };
  const auto rectified = [](Floats value) { return unless_zero(value, value); };
  const float* residual = then.residual;
  if (residual && then.relu) {
    for_each_element(shape, threads, [=](std::int64_t c, std::int64_t element) {
      store(output + element, rectified(affine(c, element) + load(residual + element)));
    });
  } else if (residual) {
    for_each_element(shape, threads, [=](std::int64_t c, std::int64_t element) {
      store(output + element, affine(c, element) + load(residual + element));
    });
  } else if (then.relu) {
    for_each_element(shape, threads, [=](std::int64_t c, std::int64_t element) {
      store(output + element, rectified(affine(c, element)));
    });
  } else {
    for_each_element(shape, threads, [=](std::int64_t c, std::int64_t element) {
      store(output + element, affine(c, element));
    });
  }
}

void grad_sums(const NormShape& shape, const float* grad, const float* output, const float* input,
               const float* mean, float* masked, double* sum_grad, double* sum_product,
               double* workspace, int threads) {
  const auto sum = [&](auto gradient) {
    sum_rows(shape, sum_grad, sum_product, workspace, threads,
             [=](std::int64_t c, std::int64_t element, Floats& first, Floats& second) {
               const Floats g = gradient(element);
               first += g;
               second += g * (load(input + element) - load(mean + c));
             });
  };
  if (!output) {
    sum([=](std::int64_t element) { return load(grad + element); });
  } else if (!masked) {
    sum([=](std::int64_t element) {
      return unless_zero(load(output + element), load(grad + element));
    });
  } else {
    sum([=](std::int64_t element) {
      const Floats g = unless_zero(load(output + element), load(grad + element));
      store(masked + element, g);
      return g;
    });
  }
}

void grad_input(const NormShape& shape, const float* grad, const float* output, const float* input,
                const float* by_grad, const float* by_input, const float* constant,
                float* grad_input, int threads) {
  const auto write = [=](std::int64_t c, std::int64_t element, Floats g) {
    store(
        grad_input + element,
        g * load(by_grad + c) + (load(input + element) * load(by_input + c) + load(constant + c)));
  };
  if (output) {
    for_each_element(shape, threads, [=](std::int64_t c, std::int64_t element) {
      write(c, element, unless_zero(load(output + element), load(grad + element)));
    });
  } else {
    for_each_element(shape, threads, [=](std::int64_t c, std::int64_t element) {
      write(c, element, load(grad + element));
    });
  }
}

}  // namespace

extern const NormKernels kNormKernels;
constexpr NormKernels kNormKernels{norm_workspace, channel_moments, scale_shift, grad_sums,
                                   grad_input};

}  // namespace lockstep::nets::kernels::LOCKSTEP_LANES
