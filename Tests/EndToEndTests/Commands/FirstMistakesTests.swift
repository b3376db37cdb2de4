import Foundation
import TestSupport
import Testing

/// Commands and calls that a new user gets wrong: each answer says what to do, and doing that works.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
final class FirstMistakesTests {
    /// A wrong command of bash, the words of its answer, the command that these words advise, and what that prints.
    struct Mistake: Sendable, CustomTestStringConvertible {
        let wrong: String, words: [String], right: String, shows: String

        init(_ wrong: String, _ words: String..., then right: String, shows: String) {
            (self.wrong, self.words, self.right, self.shows) = (wrong, words, right, shows)
        }

        var testDescription: String { wrong }
    }

    /// In the root of the tree. `serve` starts a daemon and prints its log when it is ready, or its complaint; $DIR is
    /// an empty folder, $URL a daemon with the models of the tree, $GUARDED one with tokens and a small max_body.
    static let commands = [
        Mistake(
            "ocelli clasify examples/seven.png", #"did you mean "classify"?"#,
            then: "ocelli classify examples/seven.png",
            shows: " 7"),
        Mistake(
            "ocelli classify --tops 1 examples/seven.png", #"did you mean "--top"?"#,
            then: "ocelli classify --top 1 examples/seven.png", shows: " 7"),
        Mistake(
            "ocelli classify examples/sevn.png", "no such file", #"did you mean "seven.png"?"#,
            then: "ocelli classify examples/seven.png", shows: " 7"),
        Mistake(
            "ocelli classify examples", "it is a folder", "--jsonl", then: "ocelli classify --jsonl examples",
            shows: #""file":"examples/seven.png""#),
        Mistake(
            "ocelli classify LICENSE", "this looks like text", "expected JPEG, PNG",
            then: "ocelli classify examples/nine-photo.jpg", shows: " 9"),
        Mistake(
            "ocelli detect --model models/digits examples/seven.png",
            "it answers classify: ocelli classify --model models/digits PICTURE",
            then: "ocelli classify --model models/digits examples/seven.png", shows: " 7"),
        Mistake(
            "ocelli classify --model Tests/Fixtures/detectors/case00 examples/seven.png",
            "it answers detect: ocelli detect --model Tests/Fixtures/detectors/case00 PICTURE",
            then: "ocelli detect --json --model Tests/Fixtures/detectors/case00 examples/seven.png",
            shows: #""detections""#),
        Mistake(
            "ocelli classify --model digit examples/seven.png", #"unknown model "digit" (did you mean "digits"?)"#,
            then: "ocelli classify --model digits examples/seven.png", shows: " 7"),
        Mistake(
            "serve --models modles", "does not exist", #"did you mean "models"?"#, then: "serve --models models",
            shows: "ready after"),
        Mistake(
            "serve --models $DIR", "no models in", "a folder with model.json", "`ocelli pull ORG/NAME` brings one",
            then: "cp -r models/digits $DIR && serve --models $DIR", shows: "ready after"),
        Mistake(
            "serve --listen ${URL#http://}", "Address already in use", "set listen to another address",
            then: "serve --listen 127.0.0.1:0", shows: "ready after"),
        Mistake(
            "serve --port 9000", #"did you mean "--listen"?"#, then: "serve --listen 127.0.0.1:0", shows: "ready after"),
        Mistake(
            "serve --config $DIR/ocelli.json5", "no such file", "`ocelli help config` prints one",
            then: "ocelli help config > $DIR/ocelli.json5 && serve --config $DIR/ocelli.json5 --models models",
            shows: "ready after"),
        Mistake(
            #"echo '{"modles": ["models"]}' > $DIR/o.json5; serve --config $DIR/o.json5"#, #"did you mean "models"?"#,
            then: #"echo '{"models": ["models"]}' > $DIR/o.json5; serve --config $DIR/o.json5"#, shows: "ready after"),
        Mistake(
            "touch $DIR/net.pt; serve $DIR/net.pt", "PyTorch: export the model to ONNX with torch.onnx.export",
            then: "serve models/digits/digits.onnx", shows: "ready after"),
        Mistake(
            "cp $WEIGHTS/net.onnx $DIR; serve $DIR/net.onnx", "keeps its weights in", "net.weights",
            "put that file where net.onnx is",
            then: "cp $WEIGHTS/net.onnx $WEIGHTS/net.weights $DIR; serve $DIR/net.onnx", shows: "ready after"),
        Mistake(
            "ocelli check $DIR", "model.json: is missing", ".onnx",
            then: "cp -r models/digits/. $DIR; ocelli check $DIR",
            shows: ": good"),
    ]

    static let calls = [
        Mistake(
            "curl -d @examples/nine-photo.jpg $URL/v1/classify", "send them with --data-binary",
            then: "curl --data-binary @examples/nine-photo.jpg $URL/v1/classify", shows: #""label":"9""#),
        Mistake(
            "curl --data-binary examples/seven.png $URL/v1/classify", "this looks like a file name",
            "put @ before the name",
            then: "curl --data-binary @examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl -F image=examples/seven.png $URL/v1/classify", "put @ before the name",
            then: "curl -F image=@examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl -X POST $URL/v1/classify", "the picture is empty", "--data-binary @FILE",
            then: "curl --data-binary @examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl $URL/v1/classify", "allowed: POST", "--data-binary @FILE sends a file with POST",
            then: "curl --data-binary @examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl -T examples/seven.png $URL/v1/classify", "does not allow PUT", "--data-binary @FILE",
            then: "curl --data-binary @examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @LICENSE $URL/v1/classify", "this looks like text", "expected JPEG, PNG",
            then: "curl --data-binary @examples/nine-photo.jpg $URL/v1/classify", shows: #""label":"9""#),
        Mistake(
            "base64 examples/seven.png | curl --data-binary @- $URL/v1/classify", "as base64 text: send its bytes",
            then: "curl --data-binary @- $URL/v1/classify <examples/seven.png", shows: #""label":"7""#),
        Mistake(
            #"curl --json '{"image": "examples/seven.png"}' $URL/v1/models/digits/classify"#,
            #"/v1/models/digits/predict: {\"inputs\": {\"image\": {\"b64\": \"...\"}}}"#,
            then: #"echo "{\"inputs\": {\"image\": {\"b64\": \"$(base64 -w0 examples/seven.png)\"}}}" | "#
                + "curl --json @- $URL/v1/models/digits/predict", shows: #""7":0.98"#),
        Mistake(
            #"curl --json '{"inputs": {"image": "examples/seven.png"}}' $URL/v1/models/digits/predict"#,
            #"expected a picture as {\"b64\": \"...\"}"#,
            then: #"echo "{\"inputs\": {\"image\": {\"b64\": \"$(base64 -w0 examples/seven.png)\"}}}" | "#
                + "curl --json @- $URL/v1/models/digits/predict", shows: #""7":0.98"#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/classify", "did you mean /v1/classify?",
            then: "curl --data-binary @examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/digits/classify",
            "did you mean /v1/models/digits/classify?",
            then: "curl --data-binary @examples/seven.png $URL/v1/models/digits/classify", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/predict", "did you mean /v1/models/{name}/predict?",
            then: "curl --data-binary @examples/seven.png $URL/v1/models/digits/predict", shows: #""7":0.98"#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/models/digit/classify", #"did you mean \"digits\"?"#,
            then: "curl --data-binary @examples/seven.png $URL/v1/models/digits/classify", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/models/digits/versions/2/classify", #"available: \"1\""#,
            then: "curl --data-binary @examples/seven.png $URL/v1/models/digits/versions/1/classify",
            shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/models/digits/detect", "it answers /classify, /predict",
            then: "curl --data-binary @examples/seven.png $URL/v1/models/digits/classify", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/models/case00/classify", "it answers /detect, /predict",
            then: "curl --data-binary @examples/seven.png $URL/v1/models/case00/detect", shows: #""detections""#),
        Mistake(
            "curl --data-binary @examples/seven.png $URL/v1/models/iris/predict",
            #"expected JSON, {\"inputs\": {\"NAME\": VALUE}} with \"X\""#,
            then: #"curl --json '{"inputs": {"X": [5.1, 3.5, 1.4, 0.2]}}' $URL/v1/models/iris/predict"#,
            shows: #""outputs""#),
        Mistake(
            "curl --data-binary @examples/seven.png \"$URL/v1/classify?top=0\"", "a whole number of 1 or more",
            then: "curl --data-binary @examples/seven.png \"$URL/v1/classify?top=1\"", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png \"$URL/v1/classify?topk=1\"", #"did you mean \"top\"?"#,
            then: "curl --data-binary @examples/seven.png \"$URL/v1/classify?top=1\"", shows: #""label":"7""#),
        Mistake(
            "curl --data-binary @examples/seven.png -H 'Authorization: Bearer a-token-of-this-test' $GUARDED/v1/classify",
            "exceeds the limit of 1000 bytes", "send less, or raise max_body",
            then: "curl --data-binary @examples/seven.png $URL/v1/classify", shows: #""label":"7""#),
        Mistake(
            "curl $GUARDED/v1/models", #"send \"Authorization: Bearer TOKEN\""#,
            then: "curl -H 'Authorization: Bearer a-token-of-this-test' $GUARDED/v1/models", shows: #""digits""#),
        Mistake(
            "curl -H 'Authorization: Bearer another' $GUARDED/v1/models", "unknown token: tokens_file",
            then: "curl -H \"Authorization: Bearer $(cut -d ' ' -f 2 $TOKENS)\" $GUARDED/v1/models",
            shows: #""digits""#),
        // The daemon's answer to https://, which curl does not show.
        Mistake(
            #"printf '\x16\x03\x01\x00\x05hello' | curl --max-time 5 telnet://${URL#http://}"#,
            "TLS handshake on a plain HTTP port: use http://", then: "curl http://${URL#http://}/v1/models",
            shows: #""digits""#),
    ]

    private let folder: URL
    private let daemon: Daemon
    private let guarded: Daemon

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-mistakes-\(UUID().uuidString)")
        let weights = folder.appendingPathComponent("weights")
        try FileManager.default.createDirectory(at: weights, withIntermediateDirectories: true)
        let tokens = folder.appendingPathComponent("tokens")
        try "all a-token-of-this-test\n".write(to: tokens, atomically: true, encoding: .utf8)
        let network = ONNXFile(
            [ONNXFile.Node("Add", ["x", "w"], ["y"])], inputs: [("x", [1, 4])], outputs: [("y", [1, 4])],
            weights: [("w", 4, "net.weights")])
        try network.bytes.write(to: weights.appendingPathComponent("net.onnx"))
        try Data(count: 16).write(to: weights.appendingPathComponent("net.weights"))
        let root = SharedData.packageRoot.path
        daemon = try Daemon([
            "--models", root + "/models", "--model", "case00=\(root)/Tests/Fixtures/detectors/case00",
            "--model", "iris=" + TabularTests.fixtures.appendingPathComponent("models/iris_plain.onnx").path,
            "--default-model", "digits",
        ])
        guarded = try Daemon(["--tokens-file", tokens.path, "--max-body", "1000"])
    }

    deinit {
        daemon.stop()
        guarded.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    private func bash(_ command: String, _ folder: URL) throws -> String {
        let prelude = """
            ocelli() { "$OCELLI" "$@"; }
            curl() { command curl -sS "$@"; }
            serve() {
                # The background process empties it later, and an earlier daemon was ready, too.
                : >$DIR.log
                "$OCELLI" serve --listen 127.0.0.1:0 "$@" >$DIR.log 2>&1 &
                for _ in $(seq 600); do
                    if grep -qE 'ready after|not every model is ready' $DIR.log || ! kill -0 $! 2>/dev/null; then break; fi
                    sleep 0.1
                done
                kill $! 2>/dev/null; wait $! 2>/dev/null
                cat $DIR.log
            }
            exec 2>&1
            """
        return try Shell.run(
            "bash", ["-c", prelude + "\n" + command],
            environment: [
                "OCELLI": Daemon.binary.path, "URL": daemon.url, "GUARDED": guarded.url, "DIR": folder.path,
                "WEIGHTS": self.folder.path + "/weights", "TOKENS": self.folder.path + "/tokens",
                "XDG_CACHE_HOME": Daemon.cache.path,
            ], directory: SharedData.packageRoot
        ).text
    }

    private func check(_ mistake: Mistake) throws {
        let own = folder.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        let answer = try bash(mistake.wrong, own)
        #expect(!answer.contains(mistake.shows), "it is not wrong: \(answer)")
        for words in mistake.words { #expect(answer.contains(words), "\(words): \(answer)") }
        let done = try bash(mistake.right, own)
        #expect(done.contains(mistake.shows), "\(mistake.right): \(done)")
    }

    @Test("a wrong command is answered with what to do, and that works")
    func commandsAreCorrected() throws {
        #expect(Self.commands.count >= 16)
        for mistake in Self.commands { try check(mistake) }
    }

    @Test("a wrong curl call is answered with what to do, and that works")
    func callsAreCorrected() throws {
        #expect(Self.calls.count >= 16)
        for mistake in Self.calls { try check(mistake) }
        // The log tells the operator of a client that sees only "wrong version number".
        _ = try bash("curl -k ${URL/http/https}/v1/models", folder)
        #expect(daemon.waitForLog("refused_tls_handshake"))
    }
}
