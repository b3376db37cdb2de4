import Foundation
import SystemSupport
import TestSupport
import Testing

/// `ocelli teach -o BUNDLE` and the daemon's routes: the same examples give the same answers.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtBundleTests {
    @Test(
        "a bundle of `ocelli teach` answers bit for bit as the model taught over HTTP with the same pictures",
        arguments: LongTests.every(2, of: ["auto", "nearest_mean", "logistic", "nearest_neighbors"]))
    func theBundle_answersBitForBitLikeTheTaughtModel(_ method: String) throws {
        let server = try TaughtDaemon()
        let photos = server.folder.appendingPathComponent("photos")
        var ids: [[UInt8]] = []
        for kind in 0..<3 {
            let label = photos.appendingPathComponent("kind\(kind)")
            try FileManager.default.createDirectory(at: label, withIntermediateDirectories: true)
            for number in 0..<4 + kind {
                let picture = TaughtPicture.png(kind: kind, number: number)
                ids.append(picture.withUnsafeBytes { SHA256.digest(Array($0)) })
                try picture.write(to: label.appendingPathComponent("\(number).png"))
            }
        }
        try server.create(method: method)
        for kind in 0..<3 {
            try server.teach("kind\(kind)", form: (0..<4 + kind).map { TaughtPicture.png(kind: kind, number: $0) })
        }
        let taught = try server.evaluated()
        let bundle = server.models.appendingPathComponent("exported")
        let made = try Shell.run(
            Daemon.binary.path,
            [
                "teach", "exported", photos.path, "--embedder", server.models.appendingPathComponent("embedder").path,
                "--method", method, "-o", bundle.path,
            ])
        #expect(made.status == 0, "\(made.errors)")
        server.daemon.signal(SIGHUP)
        #expect(
            try eventually { try server.get("/v1/models/exported").json["state"] as? String == "ready" })
        let methods = [
            (taught["evaluation"] as? [String: Any])?["method"] as? String,
            (try server.get("/v1/models/exported").json["taught"] as? [String: Any])?["method"] as? String,
        ]
        #expect(methods[0] == methods[1] && methods[0] != nil)
        var known: Set<Bool> = []
        for number in 20..<40 {
            // Pictures of four kinds, one of which was not taught.
            let picture = TaughtPicture.png(kind: number % 4, number: number)
            let one = try server.classify(picture), other = try server.classify(picture, "/v1/models/exported/classify")
            #expect(one.status == 200 && other.status == 200, "\(one.text) \(other.text)")
            for member in ["classifications", "distance", "known"] {
                #expect(one.json[member] as? NSObject == other.json[member] as? NSObject, "\(member) of \(number)")
            }
            if let isKnown = one.json["known"] as? Bool { known.insert(isKnown) }
        }
        #expect(known == [true, false])
        // The bundle contains no digest of a picture, as bytes or as text.
        let files = FileManager.default.enumerator(atPath: bundle.path)?.allObjects as? [String] ?? []
        #expect(files.contains("taught.safetensors"))
        for file in files {
            let bytes = try Data(contentsOf: bundle.appendingPathComponent(file))
            for id in ids {
                #expect(
                    bytes.range(of: Data(id)) == nil && bytes.range(of: Data(SHA256.text(id).utf8)) == nil, "\(file)")
            }
        }
        #expect(server.daemon.stop() == 0)
    }
}
