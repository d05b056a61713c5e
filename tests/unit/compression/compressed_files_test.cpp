// Compressed files, made by zlib and zstd at one blow: as a whole, cut off at every byte, and with every byte changed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <spillway/record_files.hpp>
#include <spillway/text_files.hpp>
#include <string>
#include <vector>

#include "compression/codec.h"
#include "compression/compressor.h"
#include "storage/scratch_directory.h"

namespace spillway::mpid {
namespace {

using namespace std::string_literals;

std::string gzipped(const std::string& contents) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string made(deflateBound(&stream, contents.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  made.resize(stream.total_out);
  deflateEnd(&stream);
  return made;
}

std::string zstd_of(const std::string& contents) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string made(ZSTD_compressBound(contents.size()), '\0');
  made.resize(ZSTD_compress2(context, made.data(), made.size(), contents.data(), contents.size()));
  ZSTD_freeCCtx(context);
  return made;
}

struct Way {
  const char* name;
  const char* suffix;
  std::string (*compressed)(const std::string&);
  size_t harmless;  // bytes that say nothing of the contents: gzip's time, level and system
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class CompressedFiles : public testing::TestWithParam<Way> {
 protected:
  ~CompressedFiles() override {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) std::filesystem::remove(entry);
  }

  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = directory_.path() + ("/" + name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  static std::string compressed(const std::string& contents) { return GetParam().compressed(contents); }

  static std::string contents_of(const std::string& path) {
    std::string contents;
    LineSplits({path}, 10).for_each_line(0, 1, [&](std::string_view line) { contents.append(line).append("\n"); });
    return contents;
  }

  static std::string message_of(const std::function<void()>& failing) {
    try {
      failing();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  storage::ScratchDirectory directory_;
};

// Incompressible in part, and larger than all buffers.
std::string long_text() {
  std::mt19937 generator(3);
  std::string text;
  while (text.size() < 3 << 20) {
    text += generator() % 1000 == 0 ? std::string(50000, 'x') : std::to_string(generator());
    text += generator() % 5 == 0 ? "\n\n" : "\n";
  }
  return text;
}

TEST_P(CompressedFiles, are_one_split_with_the_lines_of_their_contents) {
  for (const std::string& text : {"a\n\nb\n"s, "\n"s, "x\n"s, long_text()}) {
    const std::string path = write("text", compressed(text));
    EXPECT_EQ(LineSplits({path}, 10).size(), 1u);
    EXPECT_TRUE(contents_of(path) == text);
  }
  EXPECT_EQ(contents_of(write("empty", compressed(""))), "");
}

TEST_P(CompressedFiles, may_be_several_one_behind_the_other) {
  const std::string text = long_text();
  const std::string path = write("text", compressed("a\nb") + compressed("") + compressed("c\n") + compressed(text));
  EXPECT_TRUE(contents_of(path) == "a\nbc\n" + text);
}

TEST_P(CompressedFiles, that_are_cut_off_are_named) {
  const std::string whole = compressed("some text, some text, some text\n") + compressed("more\n");
  const size_t border = compressed("some text, some text, some text\n").size();
  for (size_t size = 4; size < whole.size(); ++size) {
    if (size == border) continue;
    const std::string path = write("text", whole.substr(0, size));
    const std::string cause = ": it is cut off: its compressed data have no end, and the file ends at byte ";
    EXPECT_EQ(message_of([&] { contents_of(path); }), "cannot read " + path + cause + std::to_string(size) + " (" +
                                                          GetParam().name + ")\n  Remedy: get or make the file again.");
  }
}

TEST_P(CompressedFiles, that_are_damaged_never_have_other_contents) {
  const std::string text = "some text, some text, 1234567890\n";
  const std::string whole = compressed(text);
  size_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x14);
    const std::string path = write(std::string("text") + GetParam().suffix, damaged);
    const std::string message = message_of([&] { EXPECT_EQ(contents_of(path), text); });
    refused += message.starts_with("cannot read " + path + ": ") ? 1 : 0;
  }
  EXPECT_GE(refused + GetParam().harmless, whole.size());
}

TEST_P(CompressedFiles, with_something_else_behind_are_refused) {
  const std::string whole = compressed("text\n");
  for (const std::string& rubbish : {"rubbish"s, std::string(100, '\0'), long_text()}) {
    const std::string message = message_of([&] { contents_of(write("text", whole + rubbish)); });
    EXPECT_NE(message.find(": there is something else behind its compressed data, from byte " +
                           std::to_string(whole.size()) + " on"),
              std::string::npos)
        << message;
  }
}

TEST_P(CompressedFiles, that_vanish_or_are_replaced_before_they_are_read_are_named) {
  const std::string path = write("text", compressed("text\n"));
  const LineSplits splits({path}, 10);
  const auto read = [&] { splits.for_each_line(0, 1, [](std::string_view) {}); };
  write("text", "plain");
  EXPECT_EQ(message_of(read).find("cannot read " + path + ": it has been written to since the job first looked at it"),
            0u);
  std::filesystem::remove(path);
  EXPECT_EQ(message_of(read), "cannot read " + path + ": No such file or directory");
}

TEST_P(CompressedFiles, are_not_what_only_their_names_say) {
  const std::string name = std::string("text") + GetParam().suffix;
  const std::string plain = write(name, "plain text\n");
  EXPECT_NE(message_of([&] { contents_of(plain); }).find(plain + ": it does not begin as a file of " + GetParam().name),
            std::string::npos);
  EXPECT_NE(message_of([&] { contents_of(write(name, "")); }).find(plain + ": it is empty, and a file of "),
            std::string::npos);
}

TEST_P(CompressedFiles, what_goes_wrong_in_a_line_is_said_with_its_number) {
  const std::string path = write("text", compressed("a\nb\n\nwrong\n"));
  EXPECT_EQ(message_of([&] {
              LineSplits({path}, 2).for_each_line(0, 1, [](std::string_view line) {
                if (line == "wrong") throw std::runtime_error("is wrong");
              });
            }),
            path + ", line 4: is wrong");
}

TEST_P(CompressedFiles, have_records_of_which_none_may_be_cut) {
  std::vector<std::string> records;
  const std::string path = write("records", compressed("aaabbbccc"));
  const RecordSplits splits({path}, 3, 3);
  splits.for_each_record(0, 1, [&](std::string_view record) { records.emplace_back(record); });
  EXPECT_EQ(records, (std::vector<std::string>{"aaa", "bbb", "ccc"}));
  EXPECT_EQ(sampled_keys(splits, 1), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(message_of([&] { RecordSplits({path}, 4, 9).for_each_record(0, 1, [](std::string_view) {}); }),
            "cannot read " + path + ": the 9 bytes of its contents are no whole number of records of 4 bytes");
}

TEST_P(CompressedFiles, are_sampled_at_their_beginning) {
  std::string text;
  for (int i = 100000; i < 200000; ++i) text += std::to_string(i) + "\n";
  const std::vector<std::string> sample = sampled_lines(LineSplits({write("text", compressed(text))}, 10));
  ASSERT_EQ(sample.size(), 4096u);
  EXPECT_EQ(sample.front(), "100000");
  EXPECT_EQ(sample.back(), "104095");
}

TEST_P(CompressedFiles, are_written_where_the_name_says_so) {
  const std::string path = directory_.path() + ("/out"s + GetParam().suffix);
  const std::string text = long_text();
  OutputFile output(path);
  for (size_t i = 0; i < text.size(); i += 1000) output << std::string_view(text).substr(i, 1000);
  output.finish();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::string found(text.size() + 1, '\0');
  if (GetParam().suffix == ".gz"s) {
    gzFile opened = gzopen(path.c_str(), "rb");
    found.resize(static_cast<size_t>(gzread(opened, found.data(), static_cast<unsigned>(found.size()))));
    EXPECT_EQ(gzclose(opened), Z_OK);
  } else {
    found.resize(ZSTD_decompress(found.data(), found.size(), bytes.data(), bytes.size()));
  }
  EXPECT_TRUE(found == text);
  EXPECT_LT(bytes.size(), text.size() / 2 + text.size() / 4);
}

TEST_P(CompressedFiles, that_cannot_be_written_leave_nothing) {
  const std::string path = directory_.path() + ("/out"s + GetParam().suffix);
  std::filesystem::create_symlink("/dev/full", path + ".partial");
  EXPECT_EQ(message_of([&] {
              OutputFile output(path);
              output << "text";
              output.finish();
            }),
            "cannot write " + path + ": No space left on device");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_P(CompressedFiles, are_not_written_any_more_when_they_are_finished) {
  for (const std::string& suffix : {std::string(GetParam().suffix), ""s}) {
    const std::string path = directory_.path() + ("/out" + suffix);
    const std::string cause = "cannot write " + path + ": it is finished already";
    OutputFile output(path);
    output << "text\n";
    output.finish();
    EXPECT_EQ(message_of([&] { output << "more"; }), cause);
    EXPECT_EQ(message_of([&] { output.finish(); }), cause);
    EXPECT_EQ(contents_of(path), "text\n");
  }
}

TEST_P(CompressedFiles, refuse_more_when_they_are_finished) {
  const std::string path = directory_.path() + ("/out"s + GetParam().suffix);
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  compression::Compressor compressor(*compression::codec_of_name(GetParam().name), path, descriptor);
  compressor.write("text\n");
  compressor.finish();
  const std::string cause = "cannot write " + path + ": it is finished already";
  EXPECT_EQ(message_of([&] { compressor.write(long_text()); }), cause);
  EXPECT_EQ(message_of([&] { compressor.finish(); }), cause);
  close(descriptor);
  EXPECT_EQ(contents_of(path), "text\n");
}

// A text that does not fit in the room that there is, and nothing but the first failure says so.
TEST_P(CompressedFiles, of_which_something_is_missing_are_never_finished) {
  for (const std::string& suffix : {std::string(GetParam().suffix), ""s}) {
    const std::string path = directory_.path() + ("/out" + suffix);
    std::filesystem::create_symlink("/dev/full", path + ".partial");
    OutputFile output(path);
    const std::string text = long_text();
    EXPECT_NE(message_of([&] { output << text << text; }).find("No space left on device"), std::string::npos);
    const std::string cause = "cannot write " + path + ": an earlier write has failed";
    EXPECT_EQ(message_of([&] { output << "more"; }), cause);
    EXPECT_EQ(message_of([&] { output.finish(); }), cause);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  }
}

TEST_P(CompressedFiles, of_parts_have_the_codec_of_the_job) {
  compression::set_part_codec(*compression::codec_of_name(GetParam().name));
  PartFile part(directory_.path(), 7);
  compression::set_part_codec(compression::Codec::none);
  part << "text\n";
  part.finish();
  EXPECT_EQ(contents_of(directory_.path() + ("/part-00007"s + GetParam().suffix)), "text\n");
}

INSTANTIATE_TEST_SUITE_P(Codecs, CompressedFiles,
                         testing::Values(Way{"gzip", ".gz", gzipped, 6}, Way{"zstd", ".zst", zstd_of, 0}),
                         [](const auto& tested) { return tested.param.name; });

class ZstdFiles : public CompressedFiles {};
INSTANTIATE_TEST_SUITE_P(Zstd, ZstdFiles, testing::Values(Way{"zstd", ".zst", zstd_of, 0}));

// A frame with one block of one byte, as RFC 8878 has it.
TEST_P(ZstdFiles, that_need_more_than_there_is_are_not_called_damaged) {
  const std::string block = "\x09\x00\x00"s + "a";
  const std::string with_dictionary = "\x28\xb5\x2f\xfd\x21\x05\x01"s + block;
  const std::string large_window = "\x28\xb5\x2f\xfd\x00\x90"s + block;
  const std::string well = "\x28\xb5\x2f\xfd\x00\x88"s + block;
  const std::string path = write("text", well);
  EXPECT_EQ(contents_of(path), "a\n");
  EXPECT_EQ(message_of([&] { contents_of(write("text", large_window)); }),
            "cannot read " + path +
                ": its window has more than 128 MiB\n  Remedy: compress it again without --long, or "
                "with --long=27 at most.");
  EXPECT_EQ(message_of([&] { contents_of(write("text", with_dictionary)); }),
            "cannot read " + path + ": it needs a dictionary\n  Remedy: compress it again without one.");
}

TEST(Codec, is_known_by_the_first_bytes) {
  using compression::Codec;
  using compression::codec_of_beginning;
  EXPECT_EQ(codec_of_beginning("\x1f\x8b"), Codec::gzip);
  EXPECT_EQ(codec_of_beginning("\x1f\x8b\x08\x1f"), Codec::gzip);
  EXPECT_EQ(codec_of_beginning("\x1f\x8b\x07"), Codec::none);
  EXPECT_EQ(codec_of_beginning("\x1f\x8b\x08\x20"), Codec::none);
  EXPECT_EQ(codec_of_beginning("\x28\xb5\x2f\xfd"), Codec::zstd);
  EXPECT_EQ(codec_of_beginning("\x5f\x2a\x4d\x18"), Codec::zstd);  // a frame to be skipped
  for (const char* text : {"", "\x1f", "text", "\x28\xb5\x2f", "\x4f\x2a\x4d\x18"})
    EXPECT_EQ(codec_of_beginning(text), Codec::none) << text;
}

}  // namespace
}  // namespace spillway::mpid
