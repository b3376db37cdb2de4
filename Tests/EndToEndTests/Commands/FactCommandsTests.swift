import Foundation
import TestSupport
import Testing

/// `ocelli init`, `check --against` and `classify --try` on downloaded folders.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct FactCommandsTests {
    private func ocelli(_ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        let result = try Shell.run(
            Daemon.binary.path, arguments,
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        return (result.status, String(decoding: result.output, as: UTF8.self), result.errors)
    }

    private func temporary() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-init-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private func data(_ path: String) throws -> URL { try #require(SharedData.folder).appendingPathComponent(path) }

    @Test(
        "tensor and label are the same with the model.json of `ocelli init` as without a model.json",
        arguments: LongTests.every(
            4,
            of: [
                "vit", "resnet50", "mobilevit", "efficientnet", "deit", "timm_convnext", "timm_nfnet", "yolo_detect",
                "yolo_classify", "onnx_ultralytics", "ir_ultralytics",
            ]))
    func initWritesWhatIsServedWithoutIt(_ name: String) throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let bundle = folder.appendingPathComponent(name)
        try FileManager.default.copyItem(at: try data("import/\(name)"), to: bundle)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: bundle.path)
        let picture = try data("things/pictures/pets.jpg")
        func look() throws -> (Data, String) {
            let daemon = try Daemon(["--models", folder.path])
            let tensor = try Curl.post(picture, to: daemon.url + "/v1/classify?explain=npy")
            let answer = try Curl.post(picture, to: daemon.url + "/v1/classify")
            daemon.stop()
            #expect(answer.status == 200, "\(answer.text)")
            return (tensor.body, "\(answer.topIndex) \(answer.topLabel) \(answer.topConfidence)")
        }
        let before = try look()
        let drafted = try ocelli(["init", bundle.path])
        #expect(drafted.status == 0, "\(drafted.errors)")
        let text = try String(contentsOf: bundle.appendingPathComponent("model.json"), encoding: .utf8)
        #expect(!text.contains("$decide"), "\(text)")
        #expect(text.contains("// from "))
        let checked = try ocelli(["check", bundle.path])
        #expect(
            checked.status == 0 && !checked.output.contains("still to decide"), "\(checked.output)\(checked.errors)")
        #expect(try look() == before)
    }

    @Test(
        "`check --against` compares labels and tensors, and names the first step at which a tensor differs",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)))
    func againstWhatTheOriginalMade() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let pets = try data("things/pictures/pets.jpg").path, hopper = try data("things/pictures/grace_hopper.jpg").path
        let tensor = try data("import/vit/pets.npy").path
        let csv = folder.appendingPathComponent("expected.csv")
        try Data(
            "picture,label,tensor\n\(pets),actinic_keratoses,\(tensor)\n\(hopper),benign_keratosis-like_lesions,\n".utf8
        )
        .write(to: csv)
        let vit = try data("import/vit").path
        let good = try ocelli(["check", vit, "--against", csv.path, "--at-least", "1"])
        #expect(good.status == 0, "\(good.output)\(good.errors)")
        #expect(good.output.contains("2 of 2 agree (100.0%)") && good.output.contains("1 of 1 tensors are the same"))

        // Another bundle: its resampler and its crop differ from those of the tensor.
        let lines = folder.appendingPathComponent("expected.jsonl")
        try Data("{\"picture\": \"\(pets)\", \"index\": 2, \"tensor\": \"\(tensor)\", \"confidence\": 0.9}\n".utf8)
            .write(to: lines)
        let other = try ocelli([
            "check", try data("import/resnet50").path, "--against", lines.path, "--at-least", "0.5",
        ])
        #expect(other.status == 1)
        #expect(other.output.contains("0 of 1 agree"), "\(other.output)")
        #expect(
            other.output.contains(
                "first at: \"crop_and_scale\": \"fill\", then \"resampler\": \"bilinear\", normalized by [-1,1]"),
            "\(other.output)")
        for (text, words) in [
            ("picture,label\nx.jpg,nothing\n", "is not one of the 7 labels"), ("a,b\n", "line 1: expected a heading"),
        ] {
            try Data(text.utf8).write(to: csv)
            let wrong = try ocelli(["check", vit, "--against", csv.path])
            #expect(wrong.status != 0 && (wrong.errors + wrong.output).contains(words), "\(wrong.errors)")
        }
    }

    /// Files of expected answers as written by people, and the errors for wrong ones. The confidence comes from
    /// ../shared/data/import/cases.json.
    @Test("`check --against` reads CSV, TSV and JSONL of each form, and names the line of a mistake")
    func filesOfExpectedAnswersInEveryForm() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let vit = try data("import/vit").path, pets = try data("things/pictures/pets.jpg")
        try FileManager.default.copyItem(at: pets, to: folder.appendingPathComponent("pets.jpg"))
        let original = try data("import/vit/pets.npy").path
        try FileManager.default.copyItem(atPath: original, toPath: folder.path + "/pets.npy")
        // An array with these pixels, channels last, and an array of another shape.
        let npy = [UInt8](try Data(contentsOf: URL(fileURLWithPath: original)))
        let start = 10 + Int(npy[8]) + Int(npy[9]) << 8, plane = (npy.count - start) / 12
        let turned = (0..<plane).flatMap { pixel in
            (0..<3).flatMap { channel in npy[(start + (channel * plane + pixel) * 4)...].prefix(4) }
        }
        func save(_ name: String, _ shape: String, _ bytes: [UInt8]) throws {
            let header = "{'descr': '<f4', 'fortran_order': False, 'shape': \(shape), }\n"
            let head = [0x93] + Array("NUMPY".utf8) + [1, 0, UInt8(header.utf8.count), 0]
            try Data(head + Array(header.utf8) + bytes).write(to: folder.appendingPathComponent(name))
        }
        try save("turned.npy", "(224, 224, 3)", turned)
        try save("small.npy", "(2, 3)", [UInt8](repeating: 0, count: 24))
        func check(_ name: String, _ text: String, _ more: [String] = []) throws -> (
            status: Int32, output: String, errors: String
        ) {
            let file = folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: file)
            return try ocelli(["check", vit, "--against", file.path] + more)
        }
        let label = "actinic_keratoses"
        for (name, text, words) in [
            ("plain.csv", "pets.jpg,\(label)\n", "1 of 1 agree (100.0%)"),
            (
                "confidence.csv", "pets.jpg,\(label),0.382\n",
                "largest difference of a probability: 4e-06 (line 1, \"\(label)\")"
            ),
            ("tensor.csv", "pets.jpg;\(label);pets.npy\r\n", "1 of 1 tensors are the same"),
            ("index.csv", "\u{FEFF}FILE,Class_ID\r\npets.jpg,2\r\n\r\n", "1 of 1 agree"),
            ("tabs.tsv", "image\tlabel\npets.jpg\t2\n", "1 of 1 agree"),
            (
                "tensor-alone.csv", "picture,tensor\npets.jpg,pets.npy\npets.jpg,turned.npy\n",
                "2 of 2 tensors are the same"
            ),
            (
                "by-label.jsonl",
                "{\"image\": \"pets.jpg\", \"index\": 2, \"probabilities\": {\"\(label)\": 0.881996}}\n",
                "largest difference of a probability: 0.5 (line 1"
            ),
            (
                "all.jsonl",
                "{\"image\": \"pets.jpg\", \"class\": \"\(label)\", \"probabilities\": [0, 0, 0.381996, 0, 0, 0, 0]}\n",
                "largest difference of a probability: "
            ),
        ] {
            let good = try check(name, text)
            #expect(good.status == 0 && good.errors.isEmpty, "\(name): \(good.output)\(good.errors)")
            #expect(good.output.contains(words), "\(name): \(good.output)")
        }
        for (name, text, words) in [
            ("label.csv", "pets.jpg,nothing\n", "label.csv:1: pets.jpg: \"nothing\" is not one of the 7 labels"),
            ("class.csv", "picture,index\npets.jpg,99\n", "there is no class 99: the model has 7"),
            (
                "class.jsonl", "{\"picture\": \"pets.jpg\", \"index\": -1}\n",
                "line 1: index: expected the number of a class, found \"-1\""
            ),
            ("picture.csv", "gone.jpg,2\n", "gone.jpg"),
            ("shape.csv", "pets.jpg,2,small.npy\n", "has shape [2, 3], the bundle's tensor has [1, 3, 224, 224]"),
            ("npy.csv", "picture,tensor\npets.jpg,pets.jpg\n", "is not an NPY file"),
            (
                "count.jsonl", "{\"picture\": \"pets.jpg\", \"index\": 2, \"probabilities\": [1]}\n",
                "has 1 probabilities, the model has 7 classes"
            ),
            (
                "confidence.csv", "picture,label,confidence\npets.jpg,2,98%\n",
                "line 2: confidence: expected a number from 0 to 1"
            ),
            ("empty.csv", "", "has no rows"), ("heading.csv", "picture,label\n", "has no rows"),
            ("words.csv", "a,b\n", "line 1: expected a heading"),
            ("short.csv", "picture,label\npets.jpg\n", "line 2: expected 2 values, found 1"),
            ("broken.jsonl", "{\"picture\": \"pets.jpg\", \"index\"\n", "line 1: "),
        ] {
            let wrong = try check(name, text)
            #expect(
                wrong.status == 1 && wrong.errors.contains(words),
                "\(name): \(wrong.status) \(wrong.output)\(wrong.errors)")
        }
        // One of two agrees: a failed row does not count.
        let half = "pets.jpg,2\ngone.jpg,2\n"
        #expect(try check("half.csv", half, ["--at-least", "0.5"]).status == 0)
        #expect(try check("half.csv", half, ["--at-least", "0.51"]).status == 1)
        for bound in ["1.01", "-0.1", "99%", "nan"] {
            let wrong = try check("half.csv", half, ["--at-least", bound])
            #expect(
                wrong.status == 2 && wrong.errors.contains("--at-least: expected a number from 0 to 1"),
                "\(bound): \(wrong.errors)")
        }
        #expect(try ocelli(["check", vit, "--at-least", "0.5"]).status == 2)
        #expect(try ocelli(["classify", "--try", vit, "--json", pets.path]).status == 2)
    }

    /// The confidence comes from ../shared/data/import/cases.json.
    @Test("`classify --try` ranks the combinations of undecided colour order, range and crop, with their JSON")
    func whatIsUndecidedIsTried() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let model = folder.appendingPathComponent("model.onnx")
        try FileManager.default.copyItem(at: try data("import/vit/model.onnx"), to: model)
        let pets = try data("things/pictures/pets.jpg").path
        let tried = try ocelli(["classify", "--try", model.path, pets, "--top", "2"])
        #expect(tried.status == 0, "\(tried.errors)")
        let parts = tried.output.components(separatedBy: "for the first input in model.json")
        let lines = parts[0].split(separator: "\n").filter { $0.hasPrefix("  ") }
        // Two orders, six normalizations, three crops.
        #expect(lines.count == 36 && lines.allSatisfy { $0.count { $0 == "%" } == 2 }, "\(tried.output)")
        #expect(tried.output.contains("  RGB, [-1,1], crop fill: class 2 38.2%"), "\(tried.output)")
        let confidences = lines.map { Double($0.prefix { $0 != "%" }.split(separator: " ").last ?? "") ?? -1 }
        #expect(confidences == confidences.sorted(by: >) && confidences.last ?? -1 > 0, "\(tried.output)")
        let best = parts[1].split(separator: "\n").filter { $0.hasPrefix("  ") }
        #expect(best.count == 3, "\(tried.output)")
        // The JSON of the first one, in the model.json of `ocelli init`, gives its answer.
        let json = try #require(best.first?.split(separator: "%  ", maxSplits: 1).last)
        #expect(try ocelli(["init", model.path]).status == 0)
        let file = folder.appendingPathComponent("model.json")
        let draft = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { line in
            !["format", "normalize", "crop_and_scale", "$decide"].contains { line.contains("\"\($0)\"") }
        }
        let shape = try #require(draft.firstIndex { $0.contains("\"shape\": [224, 224, 3]") })
        let layout = draft[shape + 1].contains("layout") ? shape + 1 : shape
        var text = draft.map(String.init)
        text[layout] =
            "\(draft[layout].trimmingCharacters(in: [","])), \(json.replacing("no \"normalize\", ", with: ""))"
        try Data(text.joined(separator: "\n").utf8).write(to: file)
        let known = try ocelli(["classify", "--try", folder.path, pets])
        #expect(known.output.contains("nothing is left to decide"), "\(known.output)\(known.errors)")
        let answer = try #require(lines.first?.components(separatedBy: ": ").last?.components(separatedBy: ",").first)
        #expect(known.output.contains(answer), "\(answer): \(known.output)\(text)")
        let described = try ocelli(["classify", "--try", try data("import/vit").path, pets])
        #expect(
            described.output.contains("nothing is left to decide")
                && described.output.contains("actinic_keratoses 38.2%"))
    }

    /// `--try` shows the scores of the bundle's activation.
    @Test("`classify --try` uses the bundle's activation, and refuses a model without classes")
    func theActivationOfTheBundleIsTried() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let exports = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/exports")
        let picture = exports.appendingPathComponent("picture.png").path
        let bundle = folder.appendingPathComponent("logits")
        try FileManager.default.copyItem(at: exports.appendingPathComponent("ending_logits"), to: bundle)
        #expect(try ocelli(["init", bundle.path]).status == 0)
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        // The logits are known: for 2, the sigmoid is 0.8808 and the softmax 0.8338.
        for (activation, share) in [("softmax", "dog 83.38%"), ("sigmoid", "dog 88.08%")] {
            try text.replacing("\"softmax\"", with: "\"\(activation)\"").write(
                to: file, atomically: true, encoding: .utf8)
            let tried = try ocelli(["classify", "--try", bundle.path, picture])
            #expect(tried.status == 0 && tried.output.contains(share), "\(tried.output)\(tried.errors)")
            #expect(!tried.output.contains("softmax of logits"), "\(tried.output)")
        }
        let bare = folder.appendingPathComponent("model.onnx")
        try FileManager.default.copyItem(at: bundle.appendingPathComponent("model.onnx"), to: bare)
        let numbers = try ocelli(["classify", "--try", bare.path, picture])
        #expect(
            numbers.output.contains("output \"scores\" has no labels: classes are shown by their numbers"),
            "\(numbers.output)\(numbers.errors)")
        let detector = try ocelli(["classify", "--try", exports.appendingPathComponent("yolov5").path, picture])
        #expect(
            detector.status == 1 && detector.errors.contains("has no labels of classes: it answers /v1/detect"),
            "\(detector.output)\(detector.errors)")
    }

    /// A fully quantized TensorFlow Lite classifier; the expected scale and zero point are LiteRT's `quantization` of
    /// its input and its output.
    @Test("`ocelli init` reads scale and zero point of a quantized TensorFlow Lite model from the file")
    func scaleAndZeroPointAreReadFromTheFile() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let original = try data("models/cifar10_resnet_int8")
        for file in ["model.tflite", "labels.txt"] {
            try FileManager.default.copyItem(
                at: original.appendingPathComponent(file), to: folder.appendingPathComponent(file))
        }
        func draft() throws -> (input: Substring, output: Substring) {
            let drafted = try ocelli(["init", "--stdout", folder.appendingPathComponent("model.tflite").path])
            #expect(drafted.status == 0, "\(drafted.errors)")
            let parts = drafted.output.split(separator: "\"outputs\"")
            #expect(parts.count == 2)
            return (parts.first ?? "", parts.last ?? "")
        }
        let known = try draft()
        #expect(known.input.contains("\"quantize\": { \"scale\": 1.0, \"bias\": -128.0 }"), "\(known.input)")
        #expect(!known.input.contains("quantize: the scale"), "\(known.input)")
        #expect(known.output.contains("\"dequantize\": { \"scale\": 0.00390625, \"bias\": 0.5 }"), "\(known.output)")
        #expect(!known.output.contains("$decide"), "\(known.output)")
        // Without labels, the output has nothing else to decide.
        try FileManager.default.removeItem(at: folder.appendingPathComponent("labels.txt"))
        let bare = try draft().output
        #expect(
            bare.contains("\"dequantize\": { \"scale\": 0.00390625, \"bias\": 0.5 }"), "\(bare)")
        #expect(bare.contains("$decide\": \"labels: ") && !bare.contains("dequantize: "), "\(bare)")
    }

    @Test("`imagenet-1001` as labels in model.json gives the ImageNet names, without a label file")
    func imageNetsLabelsAreInTheProgram() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let bundle = folder.appendingPathComponent("mobilenet")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        let model = bundle.appendingPathComponent("m.tflite")
        try FileManager.default.copyItem(at: try data("import/mobilenet_v1_metadata.tflite"), to: model)
        let drafted = try ocelli(["init", bundle.path])
        #expect(drafted.status == 0, "\(drafted.errors)")
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text.contains("\"labels\": \"labels.txt\",  // 1001 names, from TFLITE_METADATA of m.tflite")
                || text.contains("\"labels\": \"labels.txt\"  // 1001 names"), "\(text)")
        try text.replacing("\"labels.txt\"", with: "\"imagenet-1001\"").write(
            to: file, atomically: true, encoding: .utf8)
        let daemon = try Daemon(["--models", folder.path])
        let answer = try Curl.post(try data("images/parrot.jpg"), to: daemon.url + "/v1/classify")
        #expect(answer.topLabel == "macaw" && answer.topIndex == 89, "\(answer.text)")
        daemon.stop()
    }
}
