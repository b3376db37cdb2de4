import Foundation
import ImagePipeline
import TestSupport
import Testing

/// The page at `/`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct PageTests {
    static let chromium: String? = ["chromium", "chromium-browser", "google-chrome"].first { MetricsTests.hasTool($0) }

    @Test("the page is a single file with a new nonce each time, and loads nothing from other hosts")
    func itIsOneFileThatBringsNothingFromElsewhere() throws {
        let daemon = try Daemon()
        let first = try Curl.run(daemon.url + "/"), second = try Curl.run(daemon.url + "/")
        #expect(first.status == 200)
        #expect(first.headers["content-type"] == "text/html; charset=utf-8")
        let policy = try #require(first.headers["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'nonce-"))
        #expect(!policy.contains("unsafe"))
        #expect(policy != second.headers["content-security-policy"], "the nonce is for one time")
        let nonce = try #require(policy.firstMatch(of: /nonce-([a-z0-9]+)'/)?.output.1)
        #expect(first.text.matches(of: /<(?:script|style) nonce="([a-z0-9]+)">/).allSatisfy { $0.output.1 == nonce })
        #expect(first.text.matches(of: /nonce="/).count == 8)
        #expect(first.text.matches(of: /<script[^>]*src=/).isEmpty, "each script is in the page")
        #expect(first.text.matches(of: /(?:src|href)="([^"]*)"/).allSatisfy { !$0.output.1.contains("//") })
        #expect(!first.text.contains("NONCE"))
        #expect(try Curl.run(daemon.url + "/", ["-I"]).status == 200)
        daemon.stop()
    }

    @Test(
        "the page keeps its token when it is reloaded, and reports when the daemon ends",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"))
    func theTokenSurvivesAReloadAndTheEndIsReported() throws {
        let tokens = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        let token = "a-token-of-the-page-0123456789abcdef"
        try "all \(token)\n".write(to: tokens, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens.path)
        defer { try? FileManager.default.removeItem(at: tokens) }
        let daemon = try Daemon(["--tokens-file", tokens.path])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [try #require(Self.chromium), daemon.url + "/", "--token", token, "\(daemon.pid)"])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
    }

    /// A model of two classes that is loaded by its first request; two files, text and a proxy's error.
    @Test(
        "the page loads a lazy model on request, and handles dropped files, text and a proxy's error",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"))
    func lazyModelsAndDropsAreHandled() throws {
        let product = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml/product")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-page-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(
            at: product.appendingPathComponent("pixels.mlmodel"), to: folder.appendingPathComponent("pixels.mlmodel"))
        let daemon = try Daemon(["--models", folder.path, "--load", "lazy"])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [
                try #require(Self.chromium), daemon.url + "/", "--drop", product.appendingPathComponent("red.png").path,
                "dark", "2",
            ])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        daemon.stop()
    }

    @Test("the example picture of the page is examples/seven.png")
    func theExampleIsAFileOfTheProject() throws {
        let daemon = try Daemon()
        let picture = try Data(contentsOf: BadInputTests.seven)
        #expect(
            try Curl.run(daemon.url + "/").text.contains("data:image/png;base64,\(picture.base64EncodedString())\""))
        daemon.stop()
    }

    /// A model without labels is offered for predict; labels without a picture input do not make a classifier. The
    /// screen is 360 pixels wide.
    @Test(
        "the page offers each model for the tasks that its inputs and outputs allow",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"))
    func eachModelIsOfferedForWhatItDoes() throws {
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-page-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let array = #"{"name": "image", "type": "array", "shape": [1, 1, 64, 64]}"#
        for (name, edit) in [
            ("digits", { (_: inout [String: Any]) in }),
            ("pixels", { $0["outputs"] = [["name": "probabilities", "type": "array", "shape": [1, 10]]] }),
            ("numbers", { $0["inputs"] = [try? JSONSerialization.jsonObject(with: Data(array.utf8))] }),
        ] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let copy = folder.appendingPathComponent(name), manifest = copy.appendingPathComponent("model.json")
            try FileManager.default.copyItem(at: digits, to: copy)
            var json = try #require(
                try JSONSerialization.jsonObject(with: Data(contentsOf: manifest)) as? [String: Any])
            edit(&json)
            try JSONSerialization.data(withJSONObject: json).write(to: manifest)
        }
        let daemon = try Daemon(["--models", folder.path, "--default-model", "digits"])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [try #require(Self.chromium), daemon.url + "/", "--models"])
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    @Test(
        "a reader is chosen on the page: the lines are drawn over the picture, and the text is next to it to be copied",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"))
    func textIsReadOnThePage() throws {
        let fixtures = ReaderAnswersTests.fixtures
        let daemon = try Daemon(["--model", "bars=\(fixtures.path)/models/bars"])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [
                try #require(Self.chromium), daemon.url + "/", "--read", ReaderAnswersTests.picture("page.png").path,
                "ABC BAC\nCABe\u{301}\nAB C\nBB", "5",
            ])
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    /// Columns of a table, a row of numbers, and one with a missing number; the answers are the trained models' own.
    @Test(
        "models of values are tried on the page by fields or JSON, and answer as the trained models do",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"),
        .enabled(if: TabularTests.hasEngine, TabularTests.engineAbsence))
    func modelsOfValuesAreTried() throws {
        let fixtures = TabularTests.fixtures, names = ["people_leaves", "iris_names", "iris_missing", "diabetes_two"]
        let daemon = try Daemon(
            names.flatMap { ["--model", "\($0)=\(fixtures.path)/models/\($0).onnx"] })
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [
                try #require(Self.chromium), daemon.url + "/", "--values",
                fixtures.appendingPathComponent("cases.json").path,
            ] + names)
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    /// Chooses a picture, draws one with the keyboard, runs the shown command line, and checks names and errors.
    @Test(
        "a browser classifies a chosen and a drawn picture on the page, and runs the command shown",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"))
    func aBrowserCanUseIt() throws {
        let daemon = try Daemon()
        let root = SharedData.packageRoot
        let result = try Shell.run(
            root.appendingPathComponent("Tests/Tools/browse").path,
            [try #require(Self.chromium), daemon.url + "/", BadInputTests.seven.path, "7"])
        #expect(result.status == 0, "\(result.text)\(result.errors)")
        daemon.stop()
    }

    /// Folders of five pictures for each of two colours, and one of another colour.
    private static func pictures(in folder: URL) throws {
        var random = SplitMix(seed: 7)
        func picture(_ color: [Int]) throws -> Data {
            let pixels = (0..<24 * 24).flatMap { _ in
                color.map { UInt8(clamping: $0 + Int.random(in: -30...30, using: &random)) }
            }
            return Data(
                try pixels.withUnsafeBytes { raw throws(ImageError) in
                    try PNGEncoder.encode(width: 24, height: 24, channels: 3, pixels: raw)
                })
        }
        for (label, color) in [("blue", [40, 60, 200]), ("red", [200, 50, 40])] {
            let place = folder.appendingPathComponent(label)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for number in 0..<5 { try picture(color).write(to: place.appendingPathComponent("\(number).png")) }
        }
        try picture([230, 220, 30]).write(to: folder.appendingPathComponent("stranger.png"))
    }

    /// On a phone's screen.
    @Test(
        "classes are taught by pictures dropped on the page, with and without a token",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"), arguments: [false, true])
    func classesAreTaughtOnThePage(_ hasToken: Bool) throws {
        let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-page-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: work) }
        let models = work.appendingPathComponent("models"), tokens = work.appendingPathComponent("tokens")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        for (from, to) in [("Tests/Fixtures/observations/embedder", "embedder"), ("models/digits", "digits")] {
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent(from), to: models.appendingPathComponent(to))
        }
        let pictures = work.appendingPathComponent("pictures"), token = "a-token-of-the-page-0123456789abcdef"
        try Self.pictures(in: pictures)
        try "infer,read,teach \(token)\n".write(to: tokens, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens.path)
        let daemon = try Daemon(
            ["--models", models.path, "--taught-dir", work.appendingPathComponent("taught").path]
                + (hasToken ? ["--tokens-file", tokens.path] : []))
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [try #require(Self.chromium), daemon.url + "/", "--teach", pictures.path] + (hasToken ? [token] : []))
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    /// On a phone's screen.
    @Test(
        "kept pictures are taught and deleted on the page, and drift has a line for each signal",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"))
    func keptPicturesAreTaughtOnThePage() throws {
        let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-page-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: work) }
        let models = work.appendingPathComponent("models"), pictures = work.appendingPathComponent("pictures")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        for (from, to) in [("Tests/Fixtures/observations/embedder", "embedder"), ("models/digits", "digits")] {
            try FileManager.default.copyItem(
                at: SharedData.packageRoot.appendingPathComponent(from), to: models.appendingPathComponent(to))
        }
        try Self.pictures(in: pictures)
        let daemon = try Daemon([
            "--models", models.path, "--taught-dir", work.appendingPathComponent("taught").path,
            "--keep-dir", work.appendingPathComponent("kept").path, "--keep-margin", "1", "--keep-rate", "1000",
            "--drift", "true", "--drift-every", "0", "--drift-reference", "100",
        ])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse-kept").path,
            [try #require(Self.chromium), daemon.url + "/", pictures.path])
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    @Test(
        "a picture is classified by labels that are typed on the page, and a text is embedded",
        .enabled(if: chromium != nil, "Chromium is not installed (apt install chromium)"),
        .enabled(
            if: WordsData.folder != nil, "../shared/data/words is not beside the package: this test needs its models"))
    func labelsAndTextsAreTyped() throws {
        let daemon = try Daemon(["--models", WordsTests.models])
        let result = try Shell.run(
            SharedData.packageRoot.appendingPathComponent("Tests/Tools/browse").path,
            [
                try #require(Self.chromium), daemon.url + "/", "--words", "clip-split", "sentence-mean",
                WordsTests.picture("squares-0.png"),
            ])
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    @Test("the page shows nothing about teaching without a folder for taught models")
    func withoutAFolderNothingIsTaught() throws {
        let daemon = try Daemon()
        #expect(
            try Curl.run(daemon.url + "/").text.contains("<body data-teaches=\"false\" data-keeps=\"false\">"))
        daemon.stop()
    }
}
