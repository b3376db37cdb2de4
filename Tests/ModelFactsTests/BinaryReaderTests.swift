import FileFormats
import Foundation
import ModelFacts
import TestSupport
import Testing

/// TensorFlow Lite, ONNX and IR files, intact and broken.
@Suite struct BinaryReaderTests {
    static func onnx(_ properties: [(String, String)], operation: String = "Softmax") -> [UInt8] {
        func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
            var out = [UInt8(number << 3 | 2)]
            var count = bytes.count
            while count > 127 {
                out.append(UInt8(count & 127 | 128))
                count >>= 7
            }
            return out + [UInt8(count)] + bytes
        }
        let text = { (text: String) in [UInt8](text.utf8) }
        let first = field(1, text("x")) + field(2, text("h")) + field(4, text("MatMul"))
        let last = field(1, text("h")) + field(2, text("p")) + field(4, text(operation))
        let shape = field(1, text("h")) + field(2, text("y")) + field(4, text("Identity"))
        let graph =
            field(1, first) + field(1, last) + field(1, operation == "Identity" ? shape : [])
            + field(12, field(1, text("p")))
        return field(7, graph) + properties.flatMap { field(14, field(1, text($0.0)) + field(2, text($0.1))) }
    }

    @Test("an ONNX file gives the labels of its metadata and the activation at its end")
    func anONNXFileTellsItsPropertiesAndItsLastOperator() {
        let file = Self.onnx([("task", "classify"), ("names", "{0: 'a', 1: 'b'}"), ("imgsz", "[32, 32]")])
        let sheet = ONNXReader.read(ByteSource(file), name: "m.onnx")
        #expect(sheet.problems.isEmpty, "\(sheet.problems)")
        #expect(sheet.labels?.value == ["a", "b"] && sheet.labels?.source == "metadata_props of m.onnx")
        #expect(sheet.ending?.value == .softmax)
        #expect(
            ONNXReader.read(ByteSource(Self.onnx([], operation: "Gemm")), name: "m").ending?.value == GraphEnding.none)
        // Identity passes on the result of MatMul.
        #expect(
            ONNXReader.read(ByteSource(Self.onnx([], operation: "Identity")), name: "m").ending?.value
                == GraphEnding.none)
    }

    /// A graph, with its nodes as operator, inputs and outputs; an operator with a domain has a point in its name.
    private static func graph(_ nodes: [(String, [String], [String])]) -> [UInt8] {
        func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
            [UInt8(number << 3 | 2), UInt8(bytes.count & 127 | 128), UInt8(bytes.count >> 7)] + bytes
        }
        func text(_ number: Int, _ text: String) -> [UInt8] { field(number, [UInt8](text.utf8)) }
        func node(_ node: (String, [String], [String])) -> [UInt8] {
            let words = node.0.split(separator: ".").map(String.init)
            return node.1.flatMap { text(1, $0) } + node.2.flatMap { text(2, $0) } + text(4, words[words.count - 1])
                + (words.count > 1 ? text(7, words[0]) : [])
        }
        return field(7, nodes.flatMap { field(1, node($0)) } + field(12, text(1, "y")))
    }

    /// Layers make scores; a softmax that was changed afterwards may be anything.
    @Test(
        "the last operators of an ONNX graph tell softmax, raw scores or an unknown ending",
        arguments: [
            ([("Gemm", ["x", "w"], ["y"])], GraphEnding.none),
            ([("MatMul", ["x", "w"], ["a"]), ("Mul", ["a", "ten"], ["y"])], GraphEnding.none),
            (
                [("Conv", ["x", "w"], ["a"]), ("Relu", ["a"], ["b"]), ("GlobalAveragePool", ["b"], ["y"])],
                GraphEnding.none
            ),
            ([("Gemm", ["x", "w"], ["a"]), ("LogSoftmax", ["a"], ["y"])], GraphEnding.none),
            ([("Gemm", ["x", "w"], ["a"]), ("LogSoftmax", ["a"], ["b"]), ("Exp", ["b"], ["y"])], .softmax),
            ([("Gemm", ["x", "w"], ["a"]), ("Softmax", ["a"], ["b"]), ("Mul", ["b", "half"], ["y"])], nil),
            ([("Gemm", ["x", "w"], ["a"]), ("Softmax", ["a"], ["b"]), ("Transpose", ["b"], ["y"])], nil),
            ([("Softmax", ["x"], ["a"]), ("Gemm", ["x", "w"], ["b"]), ("Add", ["b", "a"], ["y"])], nil),
            (
                [
                    ("Gemm", ["x", "w"], ["a"]), ("Exp", ["a"], ["b"]), ("Reciprocal", ["b"], ["c"]),
                    ("Mul", ["b", "c"], ["y"]),
                ], nil
            ),
            ([("Gemm", ["x", "w"], ["a"]), ("Clip", ["a"], ["y"])], nil),
            ([("Gemm", ["x", "w"], ["a"]), ("Attention2", ["a"], ["y"])], nil),
            ([("Gemm", ["x", "w"], ["a"]), ("own.Softmax", ["a"], ["y"])], nil),
            ([("TreeEnsembleClassifier", ["x"], ["y"])], nil),
        ] as [([(String, [String], [String])], GraphEnding?)])
    func whatAGraphEndsIn(_ nodes: [(String, [String], [String])], _ ending: GraphEnding?) {
        let sheet = ONNXReader.read(ByteSource(Self.graph(nodes)), name: "m.onnx")
        #expect(sheet.problems.isEmpty && sheet.ending?.value == ending, "\(sheet)")
    }

    @Test("ONNX image metadata gives channel order and pixel range, and an unknown range is a problem")
    func anONNXFileTellsItsPixels() {
        let file = Self.onnx([("Image.BitmapPixelFormat", "Bgr8"), ("Image.NominalPixelRange", "NominalRange_0_255")])
        let sheet = ONNXReader.read(ByteSource(file), name: "m.onnx")
        #expect(sheet.order?.value == .bgr && sheet.normalization?.value.rescale == 1)
        let wrong = ONNXReader.read(ByteSource(Self.onnx([("Image.NominalPixelRange", "x")])), name: "m.onnx")
        #expect(wrong.problems.first?.reason.contains("Image.NominalPixelRange: expected NominalRange_0_255") == true)
    }

    @Test("a truncated ONNX file is reported with the byte where reading failed")
    func aBrokenONNXFileIsLocated() {
        let file = Self.onnx([("task", "classify")])
        for count in [3, 10, file.count - 1] {
            let problems = ONNXReader.read(ByteSource(Array(file.prefix(count))), name: "m.onnx").problems
            #expect(problems.first?.reason.contains("at byte") == true, "\(count): \(problems)")
        }
    }

    @Test("the model_info of an OpenVINO file gives labels, channel order, normalization and framing")
    func anIRTellsItsModelInfo() {
        let xml = """
            <?xml version="1.0"?><net name="x"><layers><layer id="0" type="Parameter"/><layer id="1" type="SoftMax"/>
            <layer id="2" type="Result"/></layers><edges><edge from-layer="0" to-layer="1" to-port="0"/>
            <edge from-layer="1" to-layer="2" to-port="0"/></edges><rt_info><model_info>
            <labels value="cat dog_&amp;_co"/><mean_values value="123.675 116.28 103.53"/><scale_values value="58.395 57.12 57.375"/>
            <resize_type value="fit_to_window"/><reverse_input_channels value="NO"/><confidence_threshold value="0.4"/>
            </model_info></rt_info></net>
            """
        let sheet = OpenVINOReader.read(Array(xml.utf8), name: "m.xml")
        #expect(sheet.problems.isEmpty, "\(sheet.problems)")
        #expect(sheet.labels?.value == ["cat", "dog_&_co"] && sheet.ending?.value == .softmax)
        #expect(sheet.order?.value == .bgr && sheet.confidence?.value == 0.4)
        #expect(sheet.framing?.value == PictureFraming(.letterbox(nil, topLeft: true)))
        // By channel of the tensor, which is blue first: reversed.
        #expect(sheet.normalization?.value.mean == [103.53, 116.28, 123.675].map { $0 / 255 })
    }

    @Test(
        "a broken OpenVINO file is reported with the place or the key of the mistake",
        arguments: [
            ("<net><a", "unterminated tag at byte"), ("<net></layers></net>", "closes \"layers\""),
            ("<net>", "ends within \"net\""),
            ("<!DOCTYPE lolz [<!ENTITY a \"b\">]><net/>", "has a document type"), ("<svg/>", "begins with \"svg\""),
            (String(repeating: "<net>", count: 100_000), "is nested more than 200 deep"),
            (
                "<net><rt_info><model_info><scale_values value=\"0\"/></model_info></rt_info></net>",
                "scale_values: expected numbers"
            ),
            (
                "<net><rt_info><model_info><pad_value value=\"999\"/></model_info></rt_info></net>",
                "pad_value: expected 0 to 255"
            ),
        ])
    func aBrokenIRIsLocated(_ text: String, _ words: String) {
        let problems = OpenVINOReader.read(Array(text.utf8), name: "m.xml").problems.map(\.reason).joined()
        #expect(problems.contains(words), "\(problems)")
    }

    // MARK: TensorFlow

    /// The signature's output, through the functions that wrap a model.
    @Test(
        "a SavedModel and a frozen graph tell the activation at their end through nested functions",
        arguments: [
            ("Softmax", GraphEnding.softmax), ("Sigmoid", .sigmoid), ("BiasAdd", GraphEnding.none), ("Exp", nil),
            ("ConcatV2", nil),
        ])
    func aSavedModelTellsWhatItEndsIn(_ operation: String, _ ending: GraphEnding?) {
        let sheet = TensorFlowReader.savedModel(
            ByteSource(FuzzSeeds.savedModel(FuzzSeeds.graph(operation))), name: "saved_model.pb")
        #expect(sheet.problems.isEmpty, "\(sheet.problems)")
        #expect(sheet.endings.map(\.output) == (ending == nil ? [] : ["probabilities"]))
        #expect(sheet.ending?.value == ending)
        let frozen = TensorFlowReader.frozenGraph(ByteSource(FuzzSeeds.graph(operation)), name: "m.pb")
        #expect(frozen.ending?.value == ending && frozen.endings.map(\.output) == (ending == nil ? [] : ["id"]))
    }

    @Test("a truncated or recursive SavedModel has no known ending")
    func brokenSavedModels() {
        let whole = FuzzSeeds.savedModel(FuzzSeeds.graph("Softmax"))
        for count in 0..<whole.count {
            #expect(TensorFlowReader.savedModel(ByteSource(Array(whole.prefix(count))), name: "m").ending == nil)
        }
        // A function that calls itself, and one that does not exist.
        for name in ["outer2", "inner"] {
            _ = TensorFlowReader.savedModel(
                ByteSource(FuzzSeeds.savedModel(FuzzSeeds.graph("Softmax", calls: name))), name: "m")
        }
        let loop = FuzzSeeds.graph("StatefulPartitionedCall")
        #expect(TensorFlowReader.savedModel(ByteSource(FuzzSeeds.savedModel(loop)), name: "m").ending == nil)
    }

    // MARK: TensorFlow Lite

    static func tflite(_ name: String) throws -> [UInt8] {
        let folder = try #require(SharedData.folder)
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    @Test(
        "the metadata of TensorFlow Lite files give labels, normalization and outputs",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func tfliteMetadataIsWhatTheFileSays() throws {
        let mobilenet = TFLiteReader.read(
            ByteSource(try Self.tflite("import/mobilenet_v1_metadata.tflite")), name: "m.tflite")
        #expect(mobilenet.problems.isEmpty, "\(mobilenet.problems)")
        #expect(mobilenet.labels?.value.count == 1001)
        #expect(mobilenet.labels?.value.prefix(3) == ["background", "tench", "goldfish"])
        #expect(mobilenet.labels?.source == "TFLITE_METADATA of m.tflite")
        #expect(mobilenet.normalization?.value.mean == [127.5] && mobilenet.normalization?.value.std == [127.5])
        #expect(mobilenet.normalization?.value.rescale == 1 && mobilenet.order?.value == .rgb)
        #expect(mobilenet.name?.value == "MobileNetV1 image classifier" && mobilenet.version?.value == "v1")
        #expect(mobilenet.author?.value == "TensorFlow" && mobilenet.ending?.value == .softmax)

        let detector = TFLiteReader.read(ByteSource(try Self.tflite("things/ssd_mobilenet_v1.tflite")), name: "m")
        #expect(detector.outputs.map(\.name) == ["locations", "classes", "scores", "number of detections"])
        #expect(detector.outputs.map(\.content) == ["bounding box", "feature", "feature", "feature"])
        #expect(detector.outputs[1].valueLabels?.count == 90 && detector.outputs[1].valueLabels?.first == "person")
        #expect(detector.labels == nil, "value labels are looked up, they are not one for each channel")

        let segmenter = TFLiteReader.read(ByteSource(try Self.tflite("things/deeplabv3.tflite")), name: "m")
        #expect(segmenter.outputs.first?.axisLabels?.count == 21, "the file's last line is empty")
        let silent = TFLiteReader.read(ByteSource(try Self.tflite("things/embedder.tflite")), name: "m")
        #expect(silent.labels == nil && silent.normalization == nil && silent.problems.isEmpty)
    }

    @Test("a TensorFlow Lite file with deflated labels gives labels, quantization and framing")
    func aSmallFileWithADeflatedArchive() throws {
        let sheet = TFLiteReader.read(ByteSource(try FuzzSeeds.bytes("tflite")), name: "m.tflite")
        #expect(sheet.problems.isEmpty, "\(sheet.problems)")
        #expect(sheet.labels?.value == ["cat", "dog"] && sheet.ending?.value == .softmax)
        #expect(sheet.outputQuantization(0)?.value == TensorQuantization(scale: 0.00390625, zeroPoint: -128))
        #expect(sheet.name?.value == "small" && sheet.framing?.value == PictureFraming(.stretch))
    }

    /// The labels without a locale count; with translations only, the first ones. Calibration is reported as
    /// unsupported.
    @Test("labels without a locale count first, and score calibration is reported as unsupported")
    func translatedLabelsThresholdsAndCalibration() throws {
        func sheet(_ name: String) throws -> FactSheet {
            let file = SharedData.packageRoot.appendingPathComponent("Tests/ModelFactsTests/Fixtures/\(name)")
            return TFLiteReader.read(ByteSource([UInt8](try Data(contentsOf: file))), name: "m.tflite")
        }
        let locales = try sheet("locales.tflite")
        #expect(locales.problems.isEmpty, "\(locales.problems)")
        #expect(locales.labels?.value == ["cat", "dog"] && locales.outputs.first?.file == "labels.txt")
        #expect(
            locales.confidence == Fact(0.25, source: "TFLITE_METADATA of m.tflite", key: "ScoreThresholdingOptions"))
        #expect(try sheet("translated.tflite").labels?.value == ["Katze", "Hund"])
        let calibrated = try sheet("calibrated.tflite")
        #expect(calibrated.unsupported.first?.value.contains("score calibration, which changes the scores") == true)
        #expect(calibrated.unsupported.first?.key == "output_tensor_metadata[0].process_units")
    }

    @Test("a file that becomes shorter while being read is reported as a problem")
    func aFileThatBecomesShorterIsAProblem() {
        for left in [0, 3] {
            let source = ByteSource(count: 4096) { Array(repeating: 0, count: min(left, $0.count)) }
            let problems = TFLiteReader.read(source, name: "m").problems.map(\.reason).joined()
            #expect(problems.contains("became shorter while it was read"), "\(problems)")
        }
    }

    @Test("bytes that are not a TensorFlow Lite file are reported as a problem")
    func aTFLiteFileThatIsNoneIsRefused() {
        for bytes in [
            [], [UInt8](repeating: 0, count: 7), [UInt8](repeating: 0xFF, count: 64),
            Array("    TFL3".utf8) + [0, 0, 0],
        ] {
            #expect(!TFLiteReader.read(ByteSource(bytes), name: "m").problems.isEmpty)
        }
    }

    /// Tables that refer to themselves, to their neighbours and beyond the end.
    @Test("TensorFlow Lite tables with random or circular offsets end without labels")
    func recursiveTablesEnd() {
        var random = SplitMix(seed: 18)
        for _ in 0..<2_000 {
            var bytes = [UInt8](repeating: 0, count: 256)
            for place in bytes.indices { bytes[place] = UInt8.random(in: 0...64, using: &random) & 0xFC }
            bytes.replaceSubrange(4..<8, with: Array("TFL3".utf8))
            let sheet = TFLiteReader.read(ByteSource(bytes), name: "m")
            #expect(sheet.labels == nil)
        }
        // Every offset leads back to the root's own table.
        var bytes = [UInt8](repeating: 0, count: 64)
        bytes.replaceSubrange(0..<8, with: [8, 0, 0, 0] + Array("TFL3".utf8))
        bytes.replaceSubrange(8..<12, with: [0xE8, 0xFF, 0xFF, 0xFF])
        bytes.replaceSubrange(32..<52, with: [20, 0, 24, 0] + [UInt8](repeating: 4, count: 16))
        #expect(!TFLiteReader.read(ByteSource(bytes), name: "m").problems.isEmpty)
    }

    /// A zip archive after the model with one file that unpacks to far more than declared, or declares far too much.
    @Test("a label archive that unpacks to too much, or to more than declared, is refused")
    func zipBombs() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-zip-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("bomb.tflite").path
        let made = try Shell.run(
            "python3",
            [
                "-c",
                """
                import sys, zipfile
                path = sys.argv[1]
                with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
                    out.writestr("labels.txt", b"cat\\n" * (25 << 20))
                """, path,
            ])
        #expect(made.status == 0, "\(made.errors)")
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let large = TFLiteReader.read(ByteSource(bytes), name: "m").problems.map(\.reason).joined(separator: "; ")
        #expect(large.contains("\"labels.txt\" of 104857600 bytes in its zip archive"), "\(large)")
        // The directory declares 1000 bytes.
        let directory = try #require(
            bytes.indices.dropLast(4).last { bytes[$0..<$0 + 4].elementsEqual([0x50, 0x4B, 1, 2]) })
        bytes.replaceSubrange(directory + 24..<directory + 28, with: [0xE8, 3, 0, 0])
        let lying = TFLiteReader.read(ByteSource(bytes), name: "m").problems.map(\.reason).joined(separator: "; ")
        #expect(lying.contains("does not unpack to the declared 1000 bytes"), "\(lying)")
    }

    /// Seeded changes of every format. scripts/fuzz facts runs 100,000 of each under AddressSanitizer.
    @Test(
        "randomly damaged model files are read within bounds and without a crash",
        arguments: ["onnx", "tflite", "xml", "zip", "savedmodel", "graph"])
    func mutations(_ format: String) throws {
        let runs = ProcessInfo.processInfo.environment["OCELLI_FUZZ_RUNS"].flatMap(Int.init) ?? 300
        let seed = ProcessInfo.processInfo.environment["OCELLI_FUZZ_SEED"].flatMap(UInt64.init) ?? 2_026
        var random = SplitMix(seed: seed)
        let original = try FuzzSeeds.bytes(format)
        for run in 0..<runs {
            var bytes = original
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                FuzzSeeds.mutate(&bytes, &random)
            }
            let sheet: FactSheet =
                switch format {
                case "onnx": ONNXReader.read(ByteSource(bytes), name: "m.onnx")
                case "xml": OpenVINOReader.read(bytes, name: "m.xml")
                case "savedmodel": TensorFlowReader.savedModel(ByteSource(bytes), name: "saved_model.pb")
                case "graph": TensorFlowReader.frozenGraph(ByteSource(bytes), name: "m.pb")
                default: TFLiteReader.read(ByteSource(bytes), name: "m.tflite")
                }
            let layers =
                switch format {
                case "onnx": ONNXReader.integerLayers(ByteSource(bytes))
                case "xml": OpenVINOReader.integerLayers(bytes)
                case "savedmodel": TensorFlowReader.integerLayers(ByteSource(bytes))
                default: 0
                }
            #expect(layers <= bytes.count, "seed \(seed), run \(run)")
            // The results are within bounds for any bytes.
            #expect((sheet.labels?.value.count ?? 0) <= 200_000, "seed \(seed), run \(run)")
        }
    }
}

/// Small files of each format, and ways to damage them.
enum FuzzSeeds {
    static func bytes(_ format: String) throws -> [UInt8] {
        switch format {
        case "onnx":
            return BinaryReaderTests.onnx([("task", "detect"), ("names", "{0: 'a', 1: 'b'}"), ("imgsz", "[32, 32]")])
        case "xml":
            return Array(
                """
                <net><layers><layer id="0" type="Parameter"/><layer id="1" type="Result"/></layers><edges><edge from-layer="0"
                to-layer="1" to-port="0"/></edges><rt_info><model_info><labels value="a &quot;b&#65;"/><mean_values value="1 2 3"/>
                <scale_values value="255"/><resize_type value="crop"/></model_info></rt_info></net>
                """.utf8)
        case "savedmodel": return savedModel(graph("Softmax"))
        case "graph": return graph("Softmax")
        case "zip": return try fixture("labels.zip")
        default: return try fixture("metadata.tflite")
        }
    }

    /// A length-delimited field of a protobuf message.
    static func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
        [UInt8(number << 3 | 2), UInt8(bytes.count & 127 | 128), UInt8(bytes.count >> 7)] + bytes
    }

    static func text(_ number: Int, _ text: String) -> [UInt8] { field(number, [UInt8](text.utf8)) }

    /// A graph that calls a function; another function makes its result, which ends in an operator.
    static func graph(_ operation: String, calls: String = "outer") -> [UInt8] {
        func node(_ name: String, _ operation: String, _ input: String, calls function: String? = nil) -> [UInt8] {
            let attribute = function.map { field(5, text(1, "f") + field(2, field(10, text(1, $0)))) } ?? []
            return text(1, name) + text(2, operation) + text(3, "^control") + text(3, input) + attribute
        }
        func function(_ name: String, _ nodes: [[UInt8]], result: String) -> [UInt8] {
            let signature = text(1, name) + field(3, text(1, "first")) + field(3, text(1, "out"))
            return field(1, signature) + nodes.flatMap { field(3, $0) } + field(4, text(1, "out") + text(2, result))
        }
        let inner = function(
            "inner", [node("last", operation, "x"), node("id", "Identity", "last:y:0")], result: "id:output:0")
        let outer = function("outer", [node("call", "PartitionedCall", "x", calls: "inner")], result: "call:output:1")
        let graph =
            field(1, node("call", "StatefulPartitionedCall", "x", calls: calls))
            + field(1, node("id", "Identity", "call:1"))
        return graph + field(2, field(1, inner) + field(1, outer))
    }

    /// A SavedModel with a signature that gives `probabilities`.
    static func savedModel(_ graph: [UInt8]) -> [UInt8] {
        let info = text(1, "probabilities") + field(2, text(1, "id:0"))
        let signature = text(1, "serving_default") + field(2, field(2, info))
        return [8, 1] + field(2, field(2, graph) + field(5, signature))
    }

    private static func fixture(_ name: String) throws -> [UInt8] {
        let folder = SharedData.packageRoot.appendingPathComponent("Tests/ModelFactsTests/Fixtures")
        return [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    static func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix) {
        guard bytes.count > 8 else { return bytes.append(UInt8.random(in: 0...255, using: &random)) }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: bytes.removeLast(min(bytes.count - 1, Int.random(in: 1...32, using: &random)))
        case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)))
        case 4:
            let end = min(bytes.count, place + Int.random(in: 1...16, using: &random))
            bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0..<bytes.count, using: &random))
        default:
            let end = min(bytes.count, place + 4)
            let value: [UInt8] =
                [[0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0x80], [0xFF, 0xFF, 0xFF, 0x7F], [0, 0, 0, 0]].randomElement(
                    using: &random) ?? []
            bytes.replaceSubrange(place..<end, with: value.prefix(end - place))
        }
    }
}
