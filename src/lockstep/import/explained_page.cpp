#include "lockstep/import/explained_page.h"

#include <fmt/format.h>

#include "lockstep/base/text/text.h"

namespace lockstep::import {
namespace {

constexpr const char* kExplainedHead =
    R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What lockstep import read</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
pre, td { font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; }
td, th { padding: .15rem .6rem; vertical-align: top; border-bottom: 1px solid #8884; }
td:first-child { text-align: right; opacity: .6; }
td:nth-child(2) { border-left: 6px solid; }
td:nth-child(3) { width: 45%; }
.r0 { border-left-color: #2a78d6; } .r1 { border-left-color: #d6702a; }
.r2 { border-left-color: #2a9d5c; } .r3 { border-left-color: #9a4fc4; }
.r4 { border-left-color: #b8860b; } .r5 { border-left-color: #c43d5f; }
</style></head><body>
<h1>What lockstep import read</h1>
<p>Only lines that gave a figure or a fact are shown. Lines of one run have one colour. Nothing was stored.</p>
)";
constexpr std::size_t kRunColours = 6;

}  // namespace

std::string explained_page(const std::vector<FileOutcome>& outcomes) {
  std::string page = kExplainedHead;
  for (const FileOutcome& outcome : outcomes) {
    const ImportedFile& file = outcome.file;
    page += fmt::format("<h2>{}</h2>\n", html_escaped(file.path));
    if (!outcome.error.empty()) {
      page += fmt::format("<p>{}</p>\n", html_escaped(outcome.error));
      continue;
    }
    page += fmt::format("<pre>{}</pre>\n", html_escaped(summary_text(outcome)));
    if (file.explained.empty()) continue;
    page += "<table><thead><tr><th>line</th><th>meaning</th><th>text</th></tr></thead><tbody>\n";
    for (const ExplainedLine& line : file.explained) {
      page +=
          fmt::format("<tr><td>{}</td><td class=\"r{}\">{}</td><td>{}</td></tr>\n", line.number,
                      line.part % kRunColours, html_escaped(line.words), html_escaped(line.text));
    }
    page += "</tbody></table>\n";
  }
  return page + "</body></html>\n";
}

}  // namespace lockstep::import
