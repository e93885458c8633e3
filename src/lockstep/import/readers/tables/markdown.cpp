#include <fmt/format.h>

#include <algorithm>

#include "lockstep/import/model/stated_facts.h"
#include "lockstep/import/readers/readers.h"
#include "lockstep/import/readers/tables/markdown_blocks.h"
#include "lockstep/import/readers/tables/printed_output.h"
#include "lockstep/import/readers/tables/table_cells.h"
#include "lockstep/import/readers/tables/table_counts.h"
#include "lockstep/import/readers/tables/table_runs.h"
#include "lockstep/import/reported_figures.h"
#include "lockstep/import/scan/line_source.h"
#include "lockstep/import/scan/text_scan.h"
#include "lockstep/import/scan/text_table.h"

namespace lockstep::import {
namespace {

constexpr std::size_t kLargestDocument = 16 * 1024 * 1024;

bool states_place(std::string_view line) {
  std::vector<StatedFact> facts;
  find_facts(line, facts);
  return std::any_of(facts.begin(), facts.end(), [](const StatedFact& fact) {
    return fact.key >= FactKey::kWorldSize && fact.key <= FactKey::kGlobalBatch;
  });
}

/// "On 4 GPUs", "2 GPUs": the count that a heading is about; not what a machine has, "A100 (8
/// GPUs)".
std::optional<std::int64_t> gpus_of_heading(std::string_view heading) {
  const std::string text = lower(heading);
  const auto count = gpus_named_in(text);
  if (!count || text.find("gpu") != text.rfind("gpu")) return std::nullopt;
  const std::size_t at = text.find(std::to_string(*count));
  const std::string_view before = trim(std::string_view(text).substr(0, at));
  const bool about = before.empty() || before.ends_with("on") || before.ends_with("with") ||
                     before.ends_with("using") || before.ends_with("across");
  return about ? count : std::nullopt;
}

/// The lines above a block that state workers or a batch: "### Training on 4 GPUs", "on one A100
/// with batch size 16:".
std::string context_of(const CodeBlock& block) {
  std::string context;
  for (const std::string& heading : block.headings) {
    if (states_place(heading)) {
      context += heading + '\n';
    } else if (const auto gpus = gpus_of_heading(heading)) {
      context += fmt::format("Running with {} GPUs\n", *gpus);
    }
  }
  if (states_place(block.introduction)) context += block.introduction + '\n';
  return context;
}

/// "Expected output" above a block; nothing where its output was measured for all that is said.
std::string words_of_an_example(const CodeBlock& block) {
  for (const std::string& words : {block.introduction, block.heading}) {
    if (is_projection(lower(words))) return printable(words, 60);
  }
  return {};
}

/// Markdown: reports, and the README of a repository. Prose reports no run: "it went from 250 ms to
/// 135 ms", "on 8 GPUs, run". Its tables do, and what programs printed into its code blocks, each
/// of which is a text of its own.
class MarkdownReader final : public Reader {
 public:
  explicit MarkdownReader(const Readers& readers) : readers_(readers) {}

  std::string_view name() const override { return "markdown"; }
  std::string_view description() const override {
    return "Markdown documents: their tables of runs, else the output in their code blocks";
  }
  Match recognise(const Sample& sample) const override {
    return is_markdown(sample.text, sample.name) ? Match::kCertain : Match::kNo;
  }
  void read(Input& input, ImportSink& sink) const override;

 private:
  void read_tables(const std::string& prose, const std::string& name, ImportSink& sink) const;
  void read_block(const CodeBlock& block, const std::string& name, ImportSink& sink) const;
  bool reads_as_a_run(const CodeBlock& block, const std::string& name) const;

  const Readers& readers_;
};

void MarkdownReader::read_tables(const std::string& prose, const std::string& name,
                                 ImportSink& sink) const {
  for (const auto& reader : readers_) {
    if (reader->name() != "tables") continue;
    Input input(name, bytes_in_memory(prose));
    reader->read(input, sink);
  }
}

void MarkdownReader::read_block(const CodeBlock& block, const std::string& name,
                                ImportSink& sink) const {
  const std::string context = context_of(block);
  const auto added = static_cast<std::uint64_t>(std::count(context.begin(), context.end(), '\n'));
  ImportSink found;
  if (sink.explains()) found.want_explanation();
  const Reader* chosen = read_printed(context + block.text, name, readers_, Match::kLikely, found);
  if (chosen == nullptr) return;
  const std::size_t part = sink.runs().size();
  if (sink.explains() && found.explained().empty())
    found.explained() = explain_by_value(context + block.text, found.runs());
  for (ImportedRun& run : found.runs()) {
    if (!run.has_figures()) continue;
    const auto own = run.notes.find("heading");
    const bool printed = own != run.notes.end() && !contains(context, own->second);
    if (!block.heading.empty() && !printed) run.notes["heading"] = printable(block.heading, 80);
    run.notes["block_format"] = std::string(chosen->name());
    sink.add(std::move(run));
  }
  for (const ExplainedLine& line : found.explained()) {
    if (line.number > added)
      sink.explain(block.line + line.number - added - 1, line.text, part + line.part, line.words);
  }
}

bool MarkdownReader::reads_as_a_run(const CodeBlock& block, const std::string& name) const {
  ImportSink found;
  read_block(block, name, found);
  return !found.runs().empty();
}

void MarkdownReader::read(Input& input, ImportSink& sink) const {
  const MarkdownText document = cut_markdown(without_escapes(input.peek(kLargestDocument)));
  // A name that ends in .md would make every block a document again.
  const std::string name = input.name().substr(0, input.name().rfind('.'));
  read_tables(document.prose, name, sink);
  std::string example;
  if (sink.runs().empty()) {
    for (const CodeBlock& block : document.blocks) {
      const std::string words = words_of_an_example(block);
      if (words.empty()) {
        read_block(block, name, sink);
      } else if (example.empty() && reads_as_a_run(block, name)) {
        example = words;
      }
    }
  }
  std::size_t number = 0;
  for (ImportedRun& run : sink.runs()) run.label = number++ == 0 ? "" : fmt::format("#{}", number);
  if (sink.runs().empty() && example.empty()) {
    for (TextTable& table : find_tables(document.prose)) {
      const std::string words = words_of_projection(table);
      table.above.clear();
      if (example.empty() && !words.empty() && !runs_of_table(table).empty()) example = words;
    }
  }
  if (sink.runs().empty() && !example.empty()) {
    sink.warn(fmt::format(
        "{}: its figures stand under \"{}\", so they may be of nothing that ran, and are not "
        "read; to import them all the same, copy them into a file of their own",
        input.name(), example));
    return;
  }
  if (sink.runs().empty())
    sink.warn(fmt::format("{}: no table or code block contains figures of a run", input.name()));
}

}  // namespace

std::unique_ptr<Reader> make_markdown_reader(const Readers& readers) {
  return std::make_unique<MarkdownReader>(readers);
}

}  // namespace lockstep::import
