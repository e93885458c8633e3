#include "lockstep/import/importer.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <tuple>

#include "lockstep/base/error.h"
#include "lockstep/import/import_fixture.h"
#include "lockstep/import/run_record.h"
#include "lockstep/import/scan/line_source.h"

namespace lockstep::import {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string utf16(const std::string& text, bool big) {
  std::string out = big ? std::string("\xFE\xFF") : std::string("\xFF\xFE");
  for (char c : text) {
    if (big) out += '\0';
    out += c;
    if (!big) out += '\0';
  }
  return out;
}

std::string message_of(const std::string& text, const ImportOptions& options = {}) {
  try {
    import_text(text, "file", options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
  return "";
}

TEST(Importer, RecognisesEveryFixture) {
  for (const std::string& name : fixture_names()) {
    const ImportedFile file = import_fixture(name);
    EXPECT_FALSE(file.runs.empty()) << name;
    EXPECT_EQ(file.digest.size(), 32u);
    for (const ImportedRun& run : file.runs) measurements(run);
  }
}

TEST(Importer, GzipAndOtherEncodingsGiveTheSame) {
  const std::string text = fixture_text("keras_epochs_4gpus.log");
  const ImportedFile plain = import_text(text);
  const std::string packed = gzip(text.substr(0, 100)) + gzip(text.substr(100));
  std::string windows;
  for (char c : text) windows += c == '\n' ? "\r\n" : std::string(1, c);
  for (const std::string& other :
       {packed, utf16(text, false), utf16(text, true), "\xEF\xBB\xBF" + text, windows}) {
    const ImportedFile file = import_text(other);
    ASSERT_EQ(file.runs.size(), 1u);
    EXPECT_EQ(file.runs[0].epochs.size(), 3u);
    EXPECT_DOUBLE_EQ(file.runs[0].epochs[2].val_accuracy, 0.62);
  }
  EXPECT_EQ(import_text(packed).digest, plain.digest);
  EXPECT_NE(import_text(text + "\n").digest, plain.digest);
}

TEST(Importer, DamagedGzipKeepsWhatCameBeforeAndNamesTheByte) {
  std::string text;
  for (int i = 1; i < 400; ++i) {
    text += "Epoch " + std::to_string(i) + ", loss 0." + std::to_string(i * 7919 % 1000) +
            ", time 1 s\n";
  }
  const std::string packed = gzip(text);
  const ImportedFile file = import_text(packed.substr(0, packed.size() / 2));
  ASSERT_FALSE(file.warnings.empty());
  EXPECT_NE(file.warnings.back().find("at compressed byte"), std::string::npos);
  EXPECT_GT(file.runs.at(0).epochs.size(), 10u);
}

TEST(Importer, HopelessFilesGetOneSentence) {
  EXPECT_EQ(message_of(""), "file is empty");
  EXPECT_NE(message_of(std::string("\x7f"
                                   "ELF\0\0\0",
                                   7))
                .find("binary (a zero at byte 4)"),
            std::string::npos);
  EXPECT_NE(message_of("hello world\n").find("line 1 is \"hello world\""), std::string::npos);
  EXPECT_NE(message_of(std::string("PK\x03\x04zzzz", 8)).find("zip archive"), std::string::npos);
  EXPECT_NE(message_of("Epoch 1/3\n").find("no figures in its 10 bytes"), std::string::npos);
  EXPECT_NE(message_of("model,metric,value\nx,step_time,abc\n").find("line 2"), std::string::npos);
}

TEST(Importer, BinaryDataInsideALogIsNamedAndReadAround) {
  const ImportedFile file = import_text(
      "Epoch 1, loss 0.5\n" + std::string(50, '\0') + "\nEpoch 2, loss 0.25\n", "mixed.log");
  EXPECT_EQ(file.runs.at(0).epochs.size(), 2u);
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_EQ(file.warnings[0], "mixed.log line 2 contains binary data; the text around it was read");
}

TEST(Importer, ZeroBytesPartLinesInsteadOfJoiningThem) {
  std::string text =
      "Epoch 1/2#- 5s - loss: 1.0 - acc: 0.5#Epoch 2/2# - 4s - loss: 0.5 - acc: 0.7#";
  for (char& c : text) c = c == '#' ? '\0' : c;
  ImportOptions options;
  options.format = "keras";
  const ImportedFile file = import_text(text, "zeros.log", options);
  ASSERT_EQ(file.runs.at(0).epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_s, 4);
  EXPECT_EQ(file.warnings.at(0),
            "zeros.log line 1 contains binary data; the text around it was read");
}

TEST(Importer, FileOfTwoFormatsSaysWhichWasNotRead) {
  const std::string keras = "Epoch 1/1\n - 10s - loss: 1.0 - val_acc: 0.5\n";
  const ImportedFile file = import_text(fixture_text("imagenet_ddp.log") + keras);
  EXPECT_EQ(file.format, "pytorch-imagenet");
  ASSERT_EQ(file.warnings.size(), 1u);
  EXPECT_EQ(file.warnings[0],
            "log.txt also contains keras, which was not read; --as keras reads that");
  for (const std::string& name : fixture_names())
    for (const std::string& warning : import_fixture(name).warnings)
      EXPECT_EQ(warning.find("also contains"), std::string::npos) << name << ": " << warning;
}

TEST(Importer, TheUserKnowsBest) {
  ImportOptions options;
  options.settings = {{"workers", "8"}, {"batch", "16"}, {"model", "mine"}};
  const ImportedRun run = import_fixture("keras_epochs_4gpus.log", options).runs.at(0);
  EXPECT_EQ(*run.workers, 8);
  EXPECT_EQ(run.workers.from, Provenance::kUser);
  EXPECT_EQ(*run.batch_per_worker, 16);
  EXPECT_EQ(*run.global_batch, 128);
  EXPECT_EQ(*run.model, "mine");
}

TEST(Importer, SettingsAndFormatsThatMakeNoSenseAreUsageErrors) {
  for (const ImportOptions& options :
       {ImportOptions{"", "", {{"colour", "red"}}}, ImportOptions{"", "", {{"workers", "many"}}},
        ImportOptions{"word", "", {}}, ImportOptions{"", "no groups", {}},
        ImportOptions{"", "(?<epoch>[", {}}}) {
    try {
      Importer importer(options);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    }
  }
}

TEST(Importer, SettingWithAWrongValueIsNotCalledUnknown) {
  for (const auto& [name, value, words] : {std::tuple{"batch", "foo", "has no valid value"},
                                           {"time_unit", "days", "has no valid"},
                                           {"colour", "blue", "is an unknown setting"}}) {
    ImportOptions options;
    options.settings = {{name, value}};
    try {
      const Importer importer(options);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

TEST(Importer, LogIsBelievedOverTheName) {
  const ImportedRun run =
      import_text("Initialized rank 0 out of 2\nEpoch 1/1\n - 5s - loss: 1.0\n", "exp_8gpus.log")
          .runs.at(0);
  EXPECT_EQ(*run.workers, 2);
  ASSERT_FALSE(run.warnings.empty());
  EXPECT_NE(run.warnings[0].find("states 8 workers, the log 2"), std::string::npos);
}

TEST(Importer, PatternReadsAnyLines) {
  ImportOptions options;
  options.pattern =
      R"(it (?<step>\d+)/\d+ of epoch (?P<epoch>\d+): L=(?<loss>[\d.]+) a=(?<val_acc>[\d.]+%) t=(?<step_time_ms>\d+))";
  const ImportedRun run = import_text(
                              "on 4 GPUs\nit 10/20 of epoch 1: L=2.0 a=25.0% t=100\nit 20/20 of "
                              "epoch 1: L=1.0 a=50.0% t=120\n"
                              "it 10/20 of epoch 2: L=0.5 a=75.0% t=110\n",
                              "x_4gpus", options)
                              .runs.at(0);
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_DOUBLE_EQ(run.epochs[0].train_loss, 1.5);
  EXPECT_DOUBLE_EQ(run.epochs[1].val_accuracy, 0.75);
  EXPECT_NEAR(run.step_time.median(), 0.11, 1e-12);
  EXPECT_EQ(*run.workers, 4);
}

TEST(Importer, PatternsFitWhateverTheirPlainTextIs) {
  for (const char* pattern : {R"(epochs? (?<epoch>\d+).*loss=(?<loss>\S+))",
                              R"((?:epoch|pass) (?<epoch>\d+), loss=(?<loss>\S+))",
                              R"([e]poch (?<epoch>\d+)x{0,3}, l{1}oss=(?<loss>\S+))",
                              R"(epo+ch (?<epoch>\d+), (los+=)(?<loss>\S+))",
                              R"(^epoch (?<epoch>[\d]+)\,* loss\=(?<loss>[^\]]+)$)"}) {
    ImportOptions options;
    options.pattern = pattern;
    const ImportedFile file =
        import_text("noise\nepoch 1, loss=0.5\nepoch 2, loss=0.25\n", "x_2gpus", options);
    ASSERT_EQ(file.runs.at(0).epochs.size(), 2u) << pattern;
    EXPECT_DOUBLE_EQ(file.runs[0].epochs[1].train_loss, 0.25) << pattern;
  }
}

TEST(Importer, MeasurementsCarryTheirConfigurationAndBasis) {
  const ImportedRun run = import_fixture("tf_cnn.txt").runs.at(0);
  const std::vector<record::Measurement> rows = measurements(run);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].metric, "train_loss");
  EXPECT_EQ(rows[0].notes.at("basis"), "the last one printed");
  EXPECT_EQ(rows[1].metric, "throughput");
  EXPECT_DOUBLE_EQ(rows[1].value, 648.25);
  EXPECT_EQ(rows[1].workers, 2);
  EXPECT_EQ(rows[2].metric, "step_time");
  EXPECT_EQ(rows[2].notes.at("basis"), "global batch / throughput");
}

TEST(LineSource, CutsLinesAsATerminalWould) {
  const std::string text = "a\r\nb\rc\b\bd\n\n\x1b[31mred\x1b[0m\nlast";
  Input input("x", bytes_in_memory(text));
  LineSource lines(input);
  Line line;
  std::string seen;
  while (lines.next(line)) seen += std::to_string(line.number) + std::string(line.text) + " ";
  EXPECT_EQ(seen, "1a 2b 2c 2d 4red 5last ");
}

TEST(LineSource, LinesLongerThanItsBufferAreWhole) {
  const std::string text = std::string(3'000'000, 'x') + "\nend\n";
  Input input("x", bytes_in_memory(text));
  LineSource lines(input);
  Line line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.text.size(), 3'000'000u);
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.text, "end");
  EXPECT_EQ(lines.cut_line(), 0u);
}

TEST(LineSource, EndlessLineIsCutOnce) {
  const std::string text = std::string(LineSource::kLongestLine * 3, 'x') + "\nend\n";
  Input input("x", bytes_in_memory(text));
  LineSource lines(input);
  Line line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(lines.cut_line(), 1u);
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line.text, "end");
  EXPECT_EQ(line.number, 2u);
}

}  // namespace
}  // namespace lockstep::import
