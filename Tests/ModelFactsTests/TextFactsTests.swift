import FileFormats
import Foundation
import JSON
import ModelFacts
import Testing

/// Dictionaries of recognizers of text, and the files that PaddleX writes next to models. The texts follow PaddleX's
/// exporter (yaml.dump of PyYAML 6).
@Suite struct TextFactsTests {
    @Test("a dictionary has the text of a class in each line; blanks and separators of other kinds are texts")
    func dictionary() throws {
        let text = "0\r\n \n\u{3000}\n\u{301}\nß\n\u{2028}\n''\n"
        #expect(try TextDictionary.read(Array(text.utf8)) == ["0", " ", "\u{3000}", "\u{301}", "ß", "\u{2028}", "''"])
        #expect(try TextDictionary.read(Array("\u{FEFF}a\n\nb".utf8)) == ["a", "", "b"])
    }

    @Test("a dictionary without entries, with too long ones or that is no text is refused with the reason")
    func hostileDictionaries() {
        func reason(_ bytes: [UInt8]) -> String {
            do throws(FormatError) {
                return "\(try TextDictionary.read(bytes).count)"
            } catch {
                return error.reason
            }
        }
        #expect(reason([]) == "has no entries")
        #expect(reason([0xFF, 0xFE, 10]) == "is not UTF-8 text")
        #expect(reason([97, 10] + [UInt8](repeating: 97, count: 257)).hasPrefix("line 2 has 257 bytes"))
        #expect(reason([UInt8](repeating: 10, count: (1 << 18) + 1)).hasPrefix("has 262145 entries"))
    }

    @Test("anchors, aliases and lists of lists are read as PyYAML reads them")
    func anchorsAndAliases() throws {
        let text =
            "a: &one\n  x:\n  - - 1\n    - 2\n  - - 3\nb: *one\nc:\n- &two word  # a comment\n- *two\nd: &one 4\ne: *one\n"
        let list = JSONValue.object(["x": .array([.array([.integer(1), .integer(2)]), .array([.integer(3)])])])
        #expect(
            try YAMLSubset.read(Array(text.utf8))
                == .object([
                    "a": list, "b": list, "c": .array([.string("word"), .string("word")]), "d": .integer(4),
                    "e": .integer(4),
                ]))
    }

    @Test("characters that combine with the blank before them are entries, as PyYAML reads them")
    func combiningCharacters() throws {
        let text =
            "PostProcess:\n  character_dict:\n  - \u{FF9E}\n  - \u{301}\n  - \u{200D}\n  - '\u{FE0F}'\n  - \u{1F3FB}\n"
        let facts = try PaddleFacts(Array(text.utf8))
        let expected = ["\u{FF9E}", "\u{301}", "\u{200D}", "\u{FE0F}", "\u{1F3FB}"]
        #expect(facts.characters?.map { Array($0.unicodeScalars) } == expected.map { Array($0.unicodeScalars) })
    }

    private static let detector = """
        Global:
          model_name: PP-OCRv5_mobile_det
        Hpi:
          backend_configs:
            paddle_infer:
              trt_dynamic_shapes: &id001
                x:
                - - 1
                  - 3
                  - 32
                  - 32
                - - 1
                  - 3
                  - 4000
                  - 4000
            tensorrt:
              dynamic_shapes: *id001
        PreProcess:
          transform_ops:
          - DecodeImage:
              channel_first: false
              img_mode: BGR
          - DetLabelEncode: null
          - DetResizeForTest: null
          - NormalizeImage:
              mean:
              - 0.485
              - 0.456
              - 0.406
              order: hwc
              scale: 1./255.
              std:
              - 0.229
              - 0.224
              - 0.225
          - ToCHWImage: null
        PostProcess:
          name: DBPostProcess
          thresh: 0.3
          box_thresh: 0.6
          max_candidates: 1000
          unclip_ratio: 1.5
        """

    private static let recognizer = """
        Global:
          model_name: PP-OCRv5_mobile_rec
        PreProcess:
          transform_ops:
          - RecResizeImg:
              image_shape:
              - 3
              - 48
              - 320
        PostProcess:
          name: CTCLabelDecode
          character_dict:
          - '0'
          - ''''
          - '#'
          - "\\\\"
          - 'no'
          - '\u{3000}'
          - 一
          - '-'
        """

    @Test("the numbers of a detector are those of its inference.yml")
    func detectorFacts() throws {
        let facts = try PaddleFacts(Array(Self.detector.utf8))
        #expect(facts.name == "PP-OCRv5_mobile_det")
        #expect(facts.mean == [0.485, 0.456, 0.406] && facts.std == [0.229, 0.224, 0.225])
        #expect(facts.bitmap == 0.3 && facts.threshold == 0.6 && facts.growth == 1.5)
        #expect(facts.shorterSide == nil && facts.longerSide == nil && facts.characters == nil)
        let limited = Self.detector.replacingOccurrences(
            of: "DetResizeForTest: null", with: "DetResizeForTest: {limit_side_len: 960, limit_type: max}")
        #expect(try PaddleFacts(Array(limited.utf8)).longerSide == 960)
    }

    @Test("the dictionary of a recognizer is that of its inference.yml, with quoted entries as they are meant")
    func recognizerFacts() throws {
        let facts = try PaddleFacts(Array(Self.recognizer.utf8))
        #expect(facts.height == 48 && facts.width == 320)
        #expect(facts.characters == ["0", "'", "#", "\\", "no", "\u{3000}", "一", "-"])
    }

    @Test("numbers that are none, or far away, are not used")
    func hostileNumbers() throws {
        for value in [".nan", ".inf", "1e300", "-5", "[]", "{}", "x", "0"] {
            let text = "PreProcess: {transform_ops: [{DetResizeForTest: {limit_side_len: \(value)}}]}"
            #expect((try? PaddleFacts(Array(text.utf8)))?.shorterSide == nil, "\(value)")
        }
    }
}
