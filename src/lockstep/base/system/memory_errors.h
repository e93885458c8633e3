#pragma once

#include <string_view>

namespace lockstep {

/// Whether the text of an exception or a last line of output is one by which the C++ library,
/// LibTorch, CUDA, cuDNN or cuBLAS reports that an allocation failed.
bool reports_lack_of_memory(std::string_view text);

}  // namespace lockstep
