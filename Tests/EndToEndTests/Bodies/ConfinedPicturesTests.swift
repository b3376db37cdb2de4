import Foundation
import ImagePipeline
import TestSupport
import Testing

/// Pictures that are decoded in separate processes, in the real daemon.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
struct ConfinedPicturesTests {
    private static func file(_ name: String) throws -> URL {
        try #require(SharedData.folder).appendingPathComponent("pictures/\(name)")
    }

    /// The processes that a process has started, by their parents in /proc.
    private static func descendants(of process: Int32) throws -> Set<Int32> {
        var parents: [Int32: Int32] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let id = Int32(name), let text = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                let fields = text.split(separator: ")").last?.split(separator: " "), fields.count > 1
            else { continue }
            parents[id] = Int32(fields[1])
        }
        var found: Set<Int32> = [process]
        while true {
            let more = parents.filter { found.contains($0.value) && !found.contains($0.key) }.map(\.key)
            if more.isEmpty { return found.subtracting([process]) }
            found.formUnion(more)
        }
    }

    /// The model's tensor for a picture: floats after NumPy's header of 128 bytes.
    private static func numbers(of name: String, _ daemon: Daemon) throws -> [Float] {
        let file = try Curl.post(Self.file(name), to: daemon.url + "/v1/classify?explain=npy").body
        let bytes = [UInt8](file.dropFirst(128))
        #expect(bytes.count > 100 && bytes.count.isMultiple(of: 4))
        return bytes.withUnsafeBytes { raw in
            (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
        }
    }

    @Test("a phone's HEIC picture reaches the model upright, with the pixels of the same picture as PNG")
    func phonePictureIsClassifiedUpright() throws {
        let daemon = try Daemon()
        let answer = try Curl.post(Self.file("heic/grid_iphone.heic"), to: daemon.url + "/v1/classify")
        #expect(answer.status == 200, "\(answer.text)")
        let image = answer.json["image"] as? [String: Any]
        #expect(image?["width"] as? Int == 180 && image?["height"] as? Int == 240 && image?["orientation"] as? Int == 1)
        // The tensor is the one of the same pixels as a PNG; another version of libheif differs by one level.
        let seen = try Self.numbers(of: "heic/grid_iphone.heic", daemon)
        let wanted = try Self.numbers(of: "expected/heic_grid_iphone.heic.png", daemon)
        let range = try #require(wanted.max()) - (try #require(wanted.min()))
        #expect(seen.count == wanted.count && zip(seen, wanted).allSatisfy { abs($0 - $1) <= range / 50 })
        let steps = try Curl.post(
            Self.file("tiff/orientation_6.tif"), to: daemon.url + "/v1/classify?explain=preprocess")
        #expect(steps.text.contains("\"orient\""), "\(steps.text.prefix(600))")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("`page` chooses a page of a TIFF, the first by default; a page that does not exist gets 400")
    func pageOfTIFFIsChosen() throws {
        let daemon = try Daemon()
        let file = try Self.file("tiff/multipage.tif")
        let pages = try (0..<3).map {
            try Curl.post(file, to: daemon.url + "/v1/classify?explain=npy&page=\($0)").body
        }
        #expect(Set(pages).count == 3)
        #expect(try Curl.post(file, to: daemon.url + "/v1/classify?explain=npy").body == pages[0])
        let absent = try Curl.post(file, to: daemon.url + "/v1/classify?page=3")
        #expect(absent.status == 400 && absent.code == "invalid_image", "\(absent.text)")
        #expect(absent.error.contains("it has no page 3 (pages count from 0)"), "\(absent.error)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("a damaged or crashing HEIC or GIF gets invalid_image; the other pictures of its batch are answered")
    func damagedPicturesAndThoseBesideThemAreAnswered() throws {
        let daemon = try Daemon()
        let classify = daemon.url + "/v1/classify"
        let whole = try Data(contentsOf: Self.file("heic/grid_iphone.heic"))
        for count in [20, 200, whole.count / 2, whole.count - 900] {
            let answer = try Curl.run(classify, ["--data-binary", "@-"], input: whole.prefix(count))
            #expect(answer.status == 400 && answer.code == "invalid_image", "\(count): \(answer.text)")
            #expect(answer.error.contains("HEIC: "), "\(answer.error)")
        }
        // A grid that is its own first tile: Debian 12's libheif follows it until its process crashes.
        var crashing = whole
        let tiles = try #require(whole.range(of: Data("dimg".utf8))).upperBound
        crashing.replaceSubrange(tiles + 4..<tiles + 6, with: whole[tiles..<tiles + 2])
        let answer = try Curl.run(classify, ["--data-binary", "@-"], input: crashing)
        #expect(answer.status == 400 && answer.code == "invalid_image", "\(answer.text)")
        #expect(answer.error.contains("HEIC: "), "\(answer.error)")
        let parts = try ["tiff/gray16.tif", "heic/irot180.heic", "bmp/1bit.bmp"].flatMap {
            ["-F", "image=@\(try Self.file($0).path)"]
        }
        let batch = try Curl.run(classify, parts + ["-F", "image=GIF89a;filename=bad.gif"])
        let results = batch.json["results"] as? [[String: Any]] ?? []
        #expect(results.map { $0["code"] as? String } == [nil, nil, nil, "invalid_image"], "\(batch.text)")
        #expect(try Curl.post(Self.file("gif/87a.gif"), to: classify).status == 200)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The deadline passes while the process is started.
    @Test(
        "a HEIC picture that is not decoded within timeout_ms=5 gets 504 deadline_exceeded",
        arguments: ["", "&explain=npy"])
    func lateAnswersAreThoseOfADeadline(_ query: String) throws {
        let daemon = try Daemon()
        let answer = try Curl.post(
            Self.file("heic/grid_iphone.heic"), to: daemon.url + "/v1/classify?timeout_ms=5" + query)
        #expect(answer.status == 504 && answer.code == "deadline_exceeded", "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// Starts a program in a namespace without some libraries: their folder has links to all other files.
    private static let without = [
        "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
        """
        set -e
        folder=$(dirname "$(/sbin/ldconfig -p | sed -n 's/.*libheif[.]so[.]1 .* => //p' | head -n 1)")
        room=$(mktemp -d)
        mount -t tmpfs none "$room"
        mkdir "$room/all" "$room/links"
        mount --rbind "$folder" "$room/all"
        ln -s "$room"/all/* "$room/links"
        rm "$room"/links/libheif.so* "$room"/links/libtiff.so* "$room"/links/libgif.so* "$room"/links/libjxl.so*
        mount --bind "$room/links" "$folder"
        exec "$0" "$@"
        """,
    ]
    private static let canHideLibraries =
        (try? Shell.run(without[0], Array(without.dropFirst()) + ["/bin/true"]).status) == 0

    @Test(
        "a picture whose decoder library is missing gets 415 with the library's package name",
        .enabled(if: canHideLibraries, "needs libheif1, and a user namespace with mounts (unshare)"))
    func formatsWithoutTheirLibrariesAreRefusedWithThePackagesName() throws {
        let daemon = try Daemon(launcher: Self.without)
        let packages = [
            "heic/irot180.heic": "libheif1", "avif/grid_irot90.avif": "libheif1", "tiff/gray16.tif": "libtiff6",
            "gif/87a.gif": "libgif7", "jxl/lossless.jxl": "libjxl0.7",
        ]
        for (name, package) in packages {
            let answer = try Curl.post(Self.file(name), to: daemon.url + "/v1/classify")
            #expect(answer.status == 415 && answer.code == "unsupported_media_type", "\(name): \(answer.text)")
            #expect(answer.error.contains("the package \(package)"), "\(answer.error)")
        }
        // BMP needs no library.
        #expect(try Curl.post(Self.file("bmp/1bit.bmp"), to: daemon.url + "/v1/classify").status == 200)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("HEIC, TIFF, GIF and BMP pictures with more pixels than max_pixels get 413 image_too_large")
    func tooManyPixelsAreRefusedBeforeTheyAreDecoded() throws {
        let daemon = try Daemon(["--max-pixels", "5000"])
        for name in ["heic/irot180.heic", "tiff/gray16.tif", "gif/87a.gif", "bmp/1bit.bmp"] {
            let answer = try Curl.post(Self.file(name), to: daemon.url + "/v1/classify")
            #expect(answer.status == 413 && answer.code == "image_too_large", "\(name): \(answer.text)")
        }
        let header = Self.bitmapHeader(side: 65_000, bits: 24)
        let answer = try Curl.run(daemon.url + "/v1/classify", ["--data-binary", "@-"], input: header)
        #expect(answer.status == 413, "\(answer.text)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The header of a square BMP.
    private static func bitmapHeader(side: Int, bits: Int) -> Data {
        var header = [UInt8](repeating: 0, count: 54)
        header.replaceSubrange(0..<2, with: [0x42, 0x4D])
        for (offset, value) in [(10, 54), (14, 40), (18, side), (22, side), (28, bits)] {
            header[offset] = UInt8(value & 255)
            header[offset + 1] = UInt8(value >> 8)
        }
        return Data(header)
    }

    /// 1 bit for each pixel: 1.3 MB, and 41 MB of pixels.
    private static let largeBitmap = bitmapHeader(side: 3200, bits: 1) + Data(count: 8 + 3200 * 400)

    @Test("a BMP that takes more memory than max_total_decode gets 413 image_too_large with both figures")
    func pictureThatTakesMoreThanThereIsIsRefused() throws {
        let daemon = try Daemon(["--max-total-decode", "32MiB"])
        let before = daemon.maximumResidentKiB
        let answer = try Curl.run(
            daemon.url + "/v1/classify", ["--data-binary", "@-"], input: Self.largeBitmap)
        #expect(answer.status == 413 && answer.code == "image_too_large", "\(answer.text)")
        // The pixels, the file, and 64 KiB for the decoder process.
        let bytes = 3200 * 3200 * 4 + Self.largeBitmap.count + 65_536
        #expect(
            answer.error.contains(
                "decoding the picture would take \(bytes) bytes of memory (more than max_total_decode); the limit is 33554432"
            ),
            "\(answer.error)")
        // A picture of another format below the limit.
        let interlaced = CancellationPicture.png(width: 3200, height: 3200, isInterlaced: true)
        let other = try Curl.run(daemon.url + "/v1/classify", ["--data-binary", "@-"], input: interlaced)
        #expect(other.status == 413 && other.error.contains("the limit is 33554432"), "\(other.text)")
        #expect(try Curl.post(Self.file("tiff/gray16.tif"), to: daemon.url + "/v1/classify").status == 200)
        #expect(daemon.maximumResidentKiB - before < 32 << 10)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("BMP pictures wait for each other if max_total_decode has room for one, and all are answered")
    func decodingWaitsForMemory() throws {
        let daemon = try Daemon(["--max-total-decode", "64MiB"])
        let picture = Self.largeBitmap
        let head =
            "POST /v1/classify HTTP/1.1\r\nHost: x\r\nCache-Control: no-store\r\n"
            + "Content-Length: \(picture.count)\r\n\r\n"
        let clients = try (0..<3).map { _ in try RawClient(daemon.url) }
        for client in clients { client.offer(Data(head.utf8) + picture) }
        let haveWaited = try eventually(every: 0.005) {
            try Curl.run(daemon.url + "/metrics").text.contains(#/ocelli_decodes_waiting [1-9]/#)
        }
        #expect(haveWaited)
        for client in clients { #expect(client.receive(seconds: 60).contains(" 200 OK"), "\(client.received)") }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// The helper is the daemon's only process for pictures.
    @Test("the picture helper process is replaced when killed, and ends when the daemon ends")
    func helperIsReplacedAndEndsWithTheDaemon() throws {
        let daemon = try Daemon()
        let classify = daemon.url + "/v1/classify"
        #expect(try Self.descendants(of: daemon.pid).isEmpty, "it starts with the first picture")
        #expect(try Curl.post(Self.file("gif/87a.gif"), to: classify).status == 200)
        let first = try Self.descendants(of: daemon.pid)
        #expect(first.count == 1)
        for process in first {
            let score = try String(contentsOfFile: "/proc/\(process)/oom_score_adj", encoding: .utf8)
            #expect(score == "1000\n")
            kill(process, SIGKILL)
        }
        usleep(100_000)
        #expect(try Curl.post(Self.file("gif/87a.gif"), to: classify).status == 200)
        let second = try Self.descendants(of: daemon.pid)
        #expect(second.isDisjoint(with: first) && second.count == 1)
        #expect(daemon.stop() == 0, "\(daemon.log)")
        for process in second {
            for _ in 0..<200 where kill(process, 0) == 0 { usleep(20_000) }
            #expect(kill(process, 0) != 0, "it outlives the daemon")
        }
    }
}
