#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::import {

/// A code block of a Markdown document.
struct CodeBlock {
  std::uint64_t line = 0;             ///< its first line, from 1
  std::string heading;                ///< the nearest above, without its signs
  std::vector<std::string> headings;  ///< those it is under, outermost first
  std::string introduction;           ///< the line before the block if it ends with a colon
  std::string text;
};

struct MarkdownText {
  std::vector<CodeBlock> blocks;  ///< without those of source code
  std::string prose;              ///< everything else; lines of code blocks are empty
};

/// Whether it is named as one, or has headings and code blocks.
bool is_markdown(std::string_view text, std::string_view name);

/// Cuts a document at its fences (``` or ~~~).
MarkdownText cut_markdown(std::string_view text);

}  // namespace lockstep::import
