import Foundation
import TestSupport
import Testing

/// Detectors, masks, keypoints and embeddings over HTTP, each case of `things/cases.json` within its tolerance.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct ObservationsTests {
    @Test("boxes, masks, keypoints and embeddings of each shared case are within its tolerance")
    func everyCaseIsWithinItsTolerance() throws {
        let cases = try ObservationCases()
        defer { cases.remove() }
        let daemon = try Daemon(["--models", cases.models.path])
        defer { daemon.stop() }
        for name in LongTests.every(2, of: cases.names) {
            let one = try cases.case(name)
            for picture in one.pictures {
                switch one.kind {
                case "detect": try detect(one, picture, daemon)
                case "mask": try segment(one, picture, daemon)
                case "keypoints": try keypoints(one, picture, daemon)
                default: break
                }
            }
            if one.kind == "embedding" { try embed(one, daemon) }
        }
    }

    private func post(
        _ one: ObservationCases.Case, _ picture: String, _ task: String, _ daemon: Daemon, _ query: String = "",
        _ arguments: [String] = []
    ) throws -> Answer {
        try Curl.run(
            daemon.url + "/v1/models/\(one.bundle)/\(task)\(query)",
            ["--data-binary", "@" + one.path(picture)] + arguments)
    }

    // MARK: Boxes

    private struct Box {
        let x: Double, y: Double, width: Double, height: Double

        init(_ value: Any?) throws {
            let box = try #require(value as? [String: Double])
            x = try #require(box["x"])
            y = try #require(box["y"])
            width = try #require(box["width"])
            height = try #require(box["height"])
        }

        func overlap(_ other: Box) -> Double {
            let across = min(x + width, other.x + other.width) - max(x, other.x)
            let down = min(y + height, other.y + other.height) - max(y, other.y)
            guard across > 0, down > 0 else { return 0 }
            return across * down / (width * height + other.width * other.height - across * down)
        }
    }

    /// - Parameter isLowered: whether to send the case's threshold, because the bundle does not have it.
    private func detect(
        _ one: ObservationCases.Case, _ picture: ObservationCases.Picture, _ daemon: Daemon, isLowered: Bool = false
    ) throws {
        let answer = try post(one, picture.name, "detect", daemon, isLowered ? "?threshold=\(one.threshold)" : "")
        #expect(answer.status == 200, "\(one.name), \(picture.name): \(answer.text)")
        let members = answer.json
        var left = try #require(members["detections"] as? [[String: Any]])
        let minimum = try #require(one.tolerance["iou"]), near = try #require(one.tolerance["confidence"])
        let confidences = left.compactMap { $0["confidence"] as? Double }
        #expect(confidences == confidences.sorted(by: >))
        for expected in picture.must {
            let box = try Box(expected["box"]), confidence = try #require(expected["confidence"] as? Double)
            let found = try left.indices.filter { index in
                try left[index]["index"] as? Int == expected["index"] as? Int
                    && Box(left[index]["box"]).overlap(box) >= minimum
                    && abs((left[index]["confidence"] as? Double ?? 9) - confidence) <= near
            }.min {
                abs((left[$0]["confidence"] as? Double ?? 9) - confidence)
                    < abs((left[$1]["confidence"] as? Double ?? 9) - confidence)
            }
            guard let found else {
                Issue.record("\(one.name), \(picture.name): \(expected) is missing in \(left)")
                continue
            }
            #expect(left[found]["label"] as? String == expected["label"] as? String)
            left.remove(at: found)
        }
        for extra in left {
            let isKnown = try picture.may.contains {
                try $0["index"] as? Int == extra["index"] as? Int && Box($0["box"]).overlap(Box(extra["box"])) > 0.5
            }
            let isNear = abs((extra["confidence"] as? Double ?? 9) - one.threshold) <= 0.1
            #expect(isKnown || isNear, "\(one.name), \(picture.name): \(extra)")
        }
        let image = try #require(members["image"] as? [String: Any])
        #expect(image["displayed"] as? [String: Int] == ["width": picture.width, "height": picture.height])
        let timing = try #require(members["timing_ms"] as? [String: Double])
        #expect(timing["postprocess"] != nil)
    }

    // MARK: Masks

    private func segment(_ one: ObservationCases.Case, _ picture: ObservationCases.Picture, _ daemon: Daemon) throws {
        let answer = try post(one, picture.name, "segment", daemon, "?mask=rle")
        #expect(answer.status == 200, "\(one.name), \(picture.name): \(answer.text)")
        let segments = try #require(answer.json["segments"] as? [[String: Any]])
        var classes = [[Int]](
            repeating: [Int](repeating: -1, count: picture.width), count: picture.height)
        for segment in segments {
            let mask = try #require(segment["mask"] as? [String: Any])
            #expect(mask["size"] as? [Int] == [picture.height, picture.width])
            let runs = Self.runs(try #require(mask["counts"] as? String))
            #expect(runs.reduce(0, +) == picture.width * picture.height)
            var place = 0, area = 0
            for (index, run) in runs.enumerated() {
                if index % 2 == 1 {
                    area += run
                    for pixel in place..<place + run {
                        classes[pixel % picture.height][pixel / picture.height] = segment["index"] as? Int ?? -2
                    }
                }
                place += run
            }
            #expect(area == segment["area"] as? Int)
        }
        // Every pixel has a class.
        #expect(!classes.joined().contains(-1))
        // The picture agrees with the run lengths.
        let png = try post(one, picture.name, "segment", daemon, "", ["-H", "Accept: image/png"])
        #expect(png.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        for (label, box) in picture.rectangles {
            let index = one.labels.firstIndex(of: label)
            var both = 0, either = 0
            for y in 0..<picture.height {
                for x in 0..<picture.width {
                    let expected = x >= box[0] && x < box[0] + box[2] && y >= box[1] && y < box[1] + box[3]
                    let found = classes[y][x] == index
                    if expected && found { both += 1 }
                    if expected || found { either += 1 }
                }
            }
            #expect(
                Double(both) / Double(either) >= one.tolerance["iou"] ?? 1, "\(one.name), \(picture.name), \(label)")
        }
        for (index, share) in picture.shares {
            let area = classes.joined().count { $0 == Int(index) }
            #expect(
                abs(Double(area) / Double(picture.width * picture.height) - share) <= 1
                    - (one.tolerance["agreement"] ?? 1))
        }
    }

    /// COCO's compressed run lengths, read as by pycocotools.
    static func runs(_ text: String) -> [Int] {
        var runs: [Int] = []
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            var value = 0, shift = 0, more = true
            while more, let byte = bytes.popFirst() {
                let group = Int(byte) - 48
                value |= (group & 0x1F) << (5 * shift)
                more = group & 0x20 != 0
                shift += 1
                if !more, group & 0x10 != 0 { value |= -1 << (5 * shift) }
            }
            if runs.count > 2 { value += runs[runs.count - 2] }
            runs.append(value)
        }
        return runs
    }

    // MARK: Points and vectors

    private func keypoints(_ one: ObservationCases.Case, _ picture: ObservationCases.Picture, _ daemon: Daemon) throws {
        let answer = try post(one, picture.name, "keypoints", daemon)
        let points = try #require(answer.json["keypoints"] as? [Any])
        #expect(points.count == picture.points.count)
        let near = (one.tolerance["points"] ?? 0) * Double(max(picture.width, picture.height))
        for (found, expected) in zip(points, picture.points) {
            guard let expected else {
                #expect(found is NSNull)
                continue
            }
            guard expected.confidence > 0.3 else { continue }
            let place = try #require(found as? [String: Any])
            #expect(abs((place["x"] as? Double ?? -1e9) - expected.x) <= near)
            #expect(abs((place["y"] as? Double ?? -1e9) - expected.y) <= near)
        }
    }

    private func embed(_ one: ObservationCases.Case, _ daemon: Daemon) throws {
        var vectors: [String: [Double]] = [:]
        for picture in one.pictures {
            let members = try post(one, picture.name, "embed", daemon).json
            let vector = try #require(members["embedding"] as? [Double])
            #expect(members["dimension"] as? Int == vector.count)
            #expect(abs(vector.reduce(0) { $0 + $1 * $1 } - 1) < 1e-5)
            if !picture.normalised.isEmpty {
                for (found, expected) in zip(vector, picture.normalised) { #expect(abs(found - expected) < 1e-3) }
                #expect(vector.count == picture.normalised.count)
            }
            let raw = try post(
                one, picture.name, "embed", daemon, "", ["-H", "Accept: application/octet-stream"])
            let floats = raw.body.withUnsafeBytes { bytes in
                (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
            #expect(floats.count == vector.count)
            for (one, other) in zip(floats, vector) { #expect(abs(Double(one) - other) < 1e-6) }
            vectors[picture.name] = vector
        }
        for (first, second, expected) in one.cosines {
            let one = try #require(vectors[first]), other = try #require(vectors[second])
            #expect(abs(zip(one, other).reduce(0) { $0 + $1.0 * $1.1 } - expected) <= 0.02)
        }
    }

    // MARK: Without a model.json

    /// Downloaded detectors: the facts of their exporters are enough to serve them, and `init` writes these facts.
    @Test("detectors find the expected boxes without a model.json, and with the model.json of `ocelli init`")
    func detectorsWithoutAModelJSON() throws {
        let all = ["synthetic/yolov8", "synthetic/end2end", "ssd_mobilenet_v1"]
        let cases = try ObservationCases(only: Set(all))
        defer { cases.remove() }
        func check(_ daemon: Daemon) throws {
            for name in all {
                let one = try cases.case(name)
                for picture in one.pictures { try detect(one, picture, daemon, isLowered: true) }
            }
        }
        // Only the model files stay.
        for name in all {
            let folder = cases.models.appendingPathComponent(try cases.case(name).bundle)
            for file in ["model.json", "labels.txt"] {
                try FileManager.default.removeItem(at: folder.appendingPathComponent(file))
            }
            let file = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
            let fileName = folder.lastPathComponent + "." + (file.split(separator: ".").last ?? "")
            try FileManager.default.moveItem(
                at: folder.appendingPathComponent(file), to: cases.models.appendingPathComponent(fileName))
            try FileManager.default.removeItem(at: folder)
        }
        let bare = try Daemon(["--models", cases.models.path])
        defer { bare.stop() }
        try check(bare)
        // Repeat with the model.json of `init`.
        for file in try FileManager.default.contentsOfDirectory(atPath: cases.models.path) {
            let folder = cases.models.appendingPathComponent(
                file.split(separator: ".").dropLast().joined(separator: "."))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let model = folder.appendingPathComponent(file)
            try FileManager.default.moveItem(at: cases.models.appendingPathComponent(file), to: model)
            let drafted = try Shell.run(Daemon.binary.path, ["init", model.path])
            #expect(drafted.status == 0, "\(drafted.errors)")
            let text = try String(contentsOf: folder.appendingPathComponent("model.json"), encoding: .utf8)
            #expect(text.contains(#""type": "boxes""#) && !text.contains("$decide"), "\(text)")
            let checked = try Shell.run(Daemon.binary.path, ["check", folder.path])
            #expect(checked.status == 0, "\(checked.text)\(checked.errors)")
        }
        let bundled = try Daemon(["--models", cases.models.path])
        defer { bundled.stop() }
        try check(bundled)
    }

    // MARK: The page

    /// Detections are listed and drawn; the slider, the keyboard, and the fields of a model of numbers and words.
    @Test(
        "the page lists and draws the results of models, and offers fields for numbers and words",
        .enabled(if: PageTests.chromium != nil, "Chromium is not installed (apt install chromium)"))
    func thePageListsAndDraws() throws {
        let cases = try ObservationCases(only: [
            "synthetic/yolov8", "synthetic/mask_softmax", "synthetic/heatmaps", "synthetic/embedding",
        ])
        defer { cases.remove() }
        let root = SharedData.packageRoot
        try FileManager.default.copyItem(
            at: root.appendingPathComponent("Tests/Fixtures/coreml/product/tickets.mlmodel"),
            to: cases.models.appendingPathComponent("tickets.mlmodel"))
        let daemon = try Daemon(["--models", cases.models.path])
        defer { daemon.stop() }
        let result = try Shell.run(
            root.appendingPathComponent("Tests/Tools/browse-things").path,
            [
                try #require(PageTests.chromium), daemon.url + "/",
                try cases.case("synthetic/yolov8").path("blobs_wide.png"),
            ])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    // MARK: The commands

    /// `ocelli detect` prints the daemon's answer, and draws it; `ocelli embed` writes a file that numpy reads.
    @Test("`ocelli detect` and `embed` print the daemon's answers, and write drawings and NPY arrays")
    func theCommandsSayTheSame() throws {
        let cases = try ObservationCases()
        defer { cases.remove() }
        let daemon = try Daemon(["--models", cases.models.path])
        defer { daemon.stop() }
        let drawn = cases.models.appendingPathComponent("drawn"), array = cases.models.appendingPathComponent("v.npy")
        for name in LongTests.every(5, of: cases.names) {
            let one = try cases.case(name)
            let paths = one.pictures.map { one.path($0.name) }
            let isEmbedding = one.kind == "embedding"
            let extra = isEmbedding ? ["--npy", array.path] : ["--draw", drawn.path]
            let result = try Shell.run(
                Daemon.binary.path,
                [isEmbedding ? "embed" : "detect", "--models", cases.models.path, "--model", one.bundle, "--json"]
                    + extra
                    + paths)
            #expect(result.status == 0, "\(name): \(result.errors)")
            let lines = result.text.split(separator: "\n")
            #expect(lines.count == paths.count, "\(name)")
            let task =
                ["detect": "detect", "mask": "segment", "keypoints": "keypoints", "embedding": "embed"][one.kind] ?? ""
            for (picture, line) in zip(one.pictures, lines) {
                let said = try #require(
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(name)")
                let answer = try post(one, picture.name, task, daemon).json
                for member in ["detections", "segments", "mask", "keypoints", "embedding"] {
                    #expect(
                        said[member] as? NSObject == answer[member] as? NSObject, "\(name), \(picture.name): \(member)")
                }
                if isEmbedding { continue }
                // The drawing is a readable picture of the displayed size; it differs from the original if there is a
                // find.
                let base = picture.name.split(whereSeparator: { "/:".contains($0) }).last.map(String.init) ?? ""
                let path = drawn.appendingPathComponent(base + ".png")
                let again = try Curl.post(path, to: daemon.url + "/v1/models/\(one.bundle)/\(task)")
                let image = try #require(again.json["image"] as? [String: Any], "\(path.path): \(again.text)")
                #expect(image["width"] as? Int == picture.width && image["height"] as? Int == picture.height)
                try? FileManager.default.removeItem(at: path)
            }
            if isEmbedding {
                let bytes = try Data(contentsOf: array)
                let header = String(decoding: bytes.dropFirst(10).prefix { $0 != 0x0A }, as: UTF8.self)
                let dimension = name == "embedder" ? 1_024 : 12
                #expect(bytes.starts(with: [0x93] + Array("NUMPY".utf8)))
                #expect(header.contains("'shape': (\(paths.count), \(dimension),)"), "\(header)")
                #expect(bytes.count == 10 + Int(bytes[8]) + 256 * Int(bytes[9]) + paths.count * dimension * 4)
            }
        }
    }

    /// The pixels on a box's edge differ from the picture's, and those far from every box do not.
    @Test("a drawing differs from the picture if and only if something is found")
    func drawingsDifferFromThePicture() throws {
        let cases = try ObservationCases(only: ["synthetic/yolov8"])
        defer { cases.remove() }
        let one = try cases.case("synthetic/yolov8")
        let drawn = cases.models.appendingPathComponent("drawn")
        let command = ["detect", "--models", cases.models.path, "--draw", drawn.path, "--threshold"]
        func drawing(_ threshold: String, _ picture: String) throws -> Data {
            let result = try Shell.run(Daemon.binary.path, command + [threshold, one.path(picture)])
            #expect(result.status == 0, "\(result.errors)")
            return try Data(contentsOf: drawn.appendingPathComponent(picture + ".png"))
        }
        // Without a find the drawing is the unchanged picture.
        #expect(try drawing("0.99", "blobs_wide.png") != drawing("0.25", "blobs_wide.png"))
        #expect(try drawing("0.25", "blobs_none.png") == drawing("0.99", "blobs_none.png"))
    }

    // MARK: The rest of the contract

    /// A route without a name uses the model of the setting, if that has the task.
    @Test("a route without a name is answered by default_model if that model has the task")
    func theDefaultModelAnswersRoutesWithoutAName() throws {
        let cases = try ObservationCases(only: ["synthetic/yolov8", "synthetic/end2end", "synthetic/embedding"])
        defer { cases.remove() }
        let picture = try cases.case("synthetic/yolov8").path("blobs_wide.png")
        func model(_ task: String, _ arguments: [String]) throws -> String? {
            let daemon = try Daemon(["--models", cases.models.path] + arguments)
            defer { daemon.stop() }
            return try Curl.run(daemon.url + "/v1/\(task)", ["--data-binary", "@" + picture]).json["model"] as? String
        }
        #expect(try model("detect", []) == "synthetic-end2end")
        #expect(try model("detect", ["--default-model=synthetic-yolov8"]) == "synthetic-yolov8")
        #expect(try model("embed", ["--default-model=synthetic-yolov8"]) == "synthetic-embedding")
    }

    /// The tasks of lazy model files without model.json are known only after loading: the first request finds the model
    /// with its task.
    @Test("a lazy model without model.json answers the routes without a name of its task")
    func lazyModelsWithoutModelJSONAnswerRoutesWithoutAName() throws {
        let shared = try #require(SharedData.folder)
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-lazy-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: models) }
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        for (name, path) in [
            ("a-mask", "things/deeplabv3"), ("b-boxes", "things/ssd_mobilenet_v1"),
            ("c-boxes", "things/ssd_mobilenet_v1"),
            ("d-classes", "import/mobilenet_v1_metadata"),
        ] {
            try FileManager.default.createSymbolicLink(
                at: models.appendingPathComponent(name + ".tflite"),
                withDestinationURL: shared.appendingPathComponent(path + ".tflite"))
        }
        let picture = shared.appendingPathComponent("images/tio_cat.jpg")
        func check(_ arguments: [String], _ expected: [(task: String, model: String?)]) throws {
            let daemon = try Daemon(["--models", models.path] + arguments)
            for (task, model) in expected {
                let answer = try Curl.post(picture, to: daemon.url + "/v1/\(task)")
                #expect(answer.json["model"] as? String == model, "\(arguments), \(task): \(answer.text.prefix(300))")
                #expect(answer.status == (model == nil ? 404 : 200))
            }
            #expect(daemon.stop() == 0, "\(daemon.log)")
        }
        let lazy = "--load=lazy"
        try check(
            [lazy], [("classify", "d-classes"), ("segment", "a-mask"), ("detect", "b-boxes"), ("keypoints", nil)])
        try check([lazy], [("detect", "b-boxes"), ("classify", "d-classes")])
        try check([lazy, "--default-model=c-boxes"], [("detect", "c-boxes"), ("segment", "a-mask")])
        try check(["--default-model=c-boxes"], [("detect", "c-boxes"), ("segment", "a-mask")])
    }

    @Test("detect takes threshold, top, classes, iou and batches; a wrong query or model gets 400")
    func queriesBatchesAndErrors() throws {
        let cases = try ObservationCases(only: ["synthetic/yolov8", "synthetic/embedding", "synthetic/mask_softmax"])
        defer { cases.remove() }
        let daemon = try Daemon(["--models", cases.models.path])
        defer { daemon.stop() }
        let yolo = try cases.case("synthetic/yolov8"), vectors = try cases.case("synthetic/embedding")
        func labels(_ query: String) throws -> [String] {
            let found = try post(yolo, "blobs_wide.png", "detect", daemon, query).json["detections"]
            return try #require(found as? [[String: Any]]).compactMap { $0["label"] as? String }
        }
        #expect(try labels("") == ["red", "green", "blue"])
        #expect(try labels("?threshold=0.75") == ["red", "green"])
        #expect(try labels("?top=1") == ["red"])
        #expect(try labels("?classes=blue,0") == ["red", "blue"])
        #expect(try labels("?classes=blue%20%2C+red+,") == ["red", "blue"])
        // Each box occurs three times before suppression.
        #expect(try labels("?iou=1").count == 9)
        #expect(
            try post(yolo, "blobs_wide.png", "detect", daemon, "?classes=pink").json["code"] as? String
                == "invalid_input")
        #expect(try post(yolo, "blobs_wide.png", "detect", daemon, "?treshold=1").status == 400)
        #expect(try post(yolo, "blobs_wide.png", "detect", daemon, "?mask=png").status == 400)
        let wrong = try post(vectors, "blobs_wide.png", "detect", daemon)
        #expect(wrong.status == 400)
        #expect(wrong.json["code"] as? String == "invalid_input")
        #expect((wrong.json["error"] as? String ?? "").contains("/embed"))
        // A route without a name finds the model with its task.
        for task in ["detect", "embed", "segment"] {
            let answer = try Curl.run(
                daemon.url + "/v1/\(task)", ["--data-binary", "@" + yolo.path("blobs_wide.png")])
            #expect(answer.status == 200)
        }
        let none = try Curl.run(daemon.url + "/v1/keypoints", ["--data-binary", "@" + yolo.path("blobs_wide.png")])
        #expect(none.status == 404)
        // Several at once; only the one that is not a picture fails.
        let batch = try Curl.run(
            daemon.url + "/v1/models/\(yolo.bundle)/versions/1/detect",
            [
                "-F", "image=@" + yolo.path("blobs_wide.png"), "-F", "image=@/etc/hostname",
                "-F", "image=@" + yolo.path("blobs_none.png"),
            ])
        let results = try #require(batch.json["results"] as? [[String: Any]])
        #expect((results[0]["detections"] as? [Any])?.count == 3)
        #expect(results[1]["part"] as? Int == 2)
        #expect((results[2]["detections"] as? [Any])?.isEmpty == true)
        let pair = try Curl.run(
            daemon.url + "/v1/models/\(vectors.bundle)/embed",
            [
                "-F", "image=@" + yolo.path("blobs_wide.png"), "-F", "image=@" + yolo.path("blobs_exif6.jpg"), "-H",
                "Accept: application/octet-stream",
            ])
        #expect(pair.body.count == 2 * 12 * 4)
        // Tensors are still available.
        let tensors = try Curl.run(
            daemon.url + "/v1/models/\(yolo.bundle)/predict", ["--data-binary", "@" + yolo.path("blobs_wide.png")])
        let outputs = try #require(tensors.json["outputs"] as? [String: Any])
        #expect((outputs["output0"] as? [[Double]])?.count == 7)
        // A crop is reported, and pixels outside it have no class.
        let mask = try cases.case("synthetic/mask_softmax")
        let cropped = try post(mask, "blobs_wide.png", "segment", daemon, "?crop=center").json
        let seen = try #require((cropped["image"] as? [String: Any])?["seen"] as? [String: Double])
        #expect(seen == ["x": 75, "y": 0, "width": 750, "height": 500])
        let areas = try #require(cropped["segments"] as? [[String: Any]]).compactMap { $0["area"] as? Int }
        #expect(areas.reduce(0, +) == 750 * 500)
    }
}
