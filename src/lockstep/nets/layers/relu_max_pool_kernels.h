#pragma once

#include <cstdint>

namespace lockstep::nets {

/// Channels are taken in blocks of this many; their number must be a multiple.
inline constexpr std::int64_t kPoolBlock = 8;

/// `images` images of `height` x `width` pixels, both even, of `channels` floats each (channels
/// last), to a quarter of the pixels. `choice` gets for each result which of the window's four
/// elements it came from (0-3), or 4 when all are <= 0.
void relu_max_pool_forward(const float* input, std::int64_t images, std::int64_t height,
                           std::int64_t width, std::int64_t channels, float* output,
                           std::uint8_t* choice);

/// Writes every element of `grad_input`.
void relu_max_pool_backward(const float* grad_output, const std::uint8_t* choice,
                            std::int64_t images, std::int64_t height, std::int64_t width,
                            std::int64_t channels, float* grad_input);

}  // namespace lockstep::nets
