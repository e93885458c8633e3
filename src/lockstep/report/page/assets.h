#pragma once

#include <optional>
#include <string_view>

namespace lockstep::report {

/// The script and the style sheet that draw a page, and their digests as a content security policy
/// names them.
struct PageAssets {
  std::string_view script;
  std::string_view style;
  std::string_view script_hash;
  std::string_view style_hash;
};

/// Nothing in a program that was built without Node.
std::optional<PageAssets> page_assets();

}  // namespace lockstep::report
