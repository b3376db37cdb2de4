import Foundation
import Rollout
import TestSupport
import Testing

/// The rule by which two answers to one picture agree (docs/rollout.md).
@Suite struct AgreementTests {
    typealias Answer = ComparableAnswer

    private func classes(_ entries: [(String, Double)]) -> Answer {
        .classes(entries.enumerated().map { .init(index: $0, label: $1.0, confidence: $1.1) })
    }

    private func box(_ label: String, _ x: Double, _ y: Double, _ width: Double, _ height: Double) -> Answer.FoundBox {
        Answer.FoundBox(label: label, confidence: 0.9, x: x, y: y, width: width, height: height)
    }

    private func agree(_ a: Answer, _ b: Answer) -> Bool { Agreement(expected: a, found: b).agrees }

    // MARK: Classes

    @Test("classifications agree if their first labels are equal, for any confidences")
    func theFirstLabelDecides() {
        let cat = classes([("tabby", 0.91), ("lynx", 0.05)])
        #expect(agree(cat, classes([("tabby", 0.2), ("goldfish", 0.19)])))
        let other = Agreement(expected: cat, found: classes([("goldfish", 0.4), ("tabby", 0.39)]))
        #expect(!other.agrees)
        #expect(other.reason == "expected tabby 0.91, got goldfish 0.40")
        // (|0.91-0.39| + |0.05-0| + |0-0.4|) / 2
        #expect(abs(other.difference - 0.485) < 1e-12)
    }

    @Test("two empty answers agree; an empty answer and another do not")
    func twoEmptyAnswersAgreeAndOneDoesNot() {
        #expect(agree(classes([]), classes([])))
        #expect(Agreement(expected: classes([("a", 1)]), found: classes([])).reason == "expected a 1.00, got no class")
        #expect(!agree(classes([]), classes([("a", 1)])))
        #expect(agree(.boxes([], side: 9), .boxes([], side: 9)))
        #expect(!agree(.boxes([], side: 9), .boxes([box("a", 0, 0, 1, 1)], side: 9)))
    }

    @Test("classes without labels are compared by their index")
    func classesWithoutLabelsAreTheirNumbers() {
        func numbered(_ index: Int) -> Answer { .classes([.init(index: index, label: "", confidence: 1)]) }
        #expect(agree(numbered(3), numbered(3)))
        #expect(!agree(numbered(3), numbered(4)))
    }

    @Test("an error agrees only with an error of the same code")
    func errorsAgreeWithTheSameErrorAlone() {
        let broken = Answer.failure(code: "invalid_image", message: "it is cut off")
        #expect(agree(broken, .failure(code: "invalid_image", message: "other words")))
        #expect(!agree(broken, .failure(code: "internal", message: "it is cut off")))
        #expect(!agree(broken, classes([("a", 1)])))
        let lost = Agreement(expected: classes([("a", 1)]), found: broken)
        #expect(lost.reason == "expected classes, got an error: it is cut off" && lost.difference == 1)
        #expect(Agreement(expected: classes([]), found: .embedding([])).reason == "expected classes, got an embedding")
    }

    // MARK: Texts

    @Test("texts agree if at most 2 % of the longer one's characters must be edited")
    func textsNeedFewEdits() {
        let hundred = String(repeating: "abcdefghi\n", count: 10)
        #expect(agree(.text(hundred), .text(hundred)))
        #expect(agree(.text(hundred), .text("x" + hundred.dropFirst())), "1 of 100")
        #expect(agree(.text(hundred), .text(hundred.dropFirst() + "x")), "one removed, one added")
        #expect(!agree(.text(hundred), .text("xyz" + hundred.dropFirst(3))), "3 of 100")
        // 2 % of 102 characters are 2.04.
        #expect(agree(.text(hundred), .text(hundred + "xy")))
        #expect(!agree(.text(hundred), .text(hundred + "xyz")))
        #expect(!agree(.text(String(repeating: "a", count: 49)), .text(String(repeating: "a", count: 48))), "0.98")
        #expect(agree(.text(String(repeating: "a", count: 50)), .text(String(repeating: "a", count: 49))), "1.0")
        #expect(!agree(.text("NORTH GATE"), .text("NORTH GATF")), "2 % of 10 characters is none")
        #expect(agree(.text(""), .text("")) && !agree(.text(""), .text("a")) && !agree(.text("a"), .text("")))
        #expect(Agreement(expected: .text("a"), found: .embedding([])).reason == "expected text, got an embedding")
    }

    @Test("a disagreement of texts says where they differ first, and how much")
    func textsThatDifferSayWhere() {
        let other = Agreement(expected: .text("NORTH GATE"), found: .text("NORTH BATE"))
        #expect(
            other.reason == "more than 0 of 10 characters differ: expected \"NORTH GATE\", got \"NORTH BATE\"",
            "\(other.reason ?? "")")
        #expect(other.difference > 0 && other.difference <= 1)
        let long = String(repeating: "x", count: 100)
        let reason = Agreement(expected: .text(long + "\nabc"), found: .text(long + "\ndefg")).reason ?? ""
        #expect(
            reason.contains("expected \"…") && reason.contains("x abc\"") && reason.contains("x defg\""), "\(reason)")
    }

    // MARK: Boxes

    /// Two squares of 10, shifted by 10/3: 66.7 of 133.3 pixels are common, exactly half.
    @Test("boxes agree if their labels are equal and their overlap (IoU) is at least one half")
    func boxesNeedAnOverlapOfAHalf() {
        let square = Answer.boxes([box("cat", 0, 0, 30, 30)], side: 100)
        #expect(agree(square, .boxes([box("cat", 10, 0, 30, 30)], side: 100)), "20*30 of 40*30 is 0.5")
        #expect(!agree(square, .boxes([box("cat", 10.01, 0, 30, 30)], side: 100)))
        #expect(!agree(square, .boxes([box("dog", 0, 0, 30, 30)], side: 100)))
        #expect(!agree(square, .boxes([box("cat", 0, 0, 30, 30)], side: 101)), "another picture")
    }

    @Test("a box without area agrees only with an equal box")
    func boxesWithoutAnAreaAgreeWithThemselvesAlone() {
        let line = Answer.boxes([box("a", 5, 5, 0, 9)], side: 100)
        #expect(agree(line, line))
        #expect(!agree(line, .boxes([box("a", 5, 5, 0, 8)], side: 100)))
        #expect(!agree(line, .boxes([box("a", .nan, 5, 0, 9)], side: 100)))
    }

    /// Matching works in both directions, one to one: it fails for a missing box, and for a box claimed by two.
    @Test("every box needs its own partner in the other answer")
    func eachBoxHasItsOwn() {
        let one = box("a", 0, 0, 30, 30), other = box("a", 1, 0, 30, 30)
        #expect(!agree(.boxes([one], side: 99), .boxes([one, other], side: 99)))
        #expect(!agree(.boxes([one, other], side: 99), .boxes([one], side: 99)))
        #expect(agree(.boxes([one, other], side: 99), .boxes([other, one], side: 99)))
        let lost = Agreement(expected: .boxes([one, other], side: 99), found: .boxes([one], side: 99))
        #expect(lost.difference == 0.5)
        #expect(lost.reason == "expected a 0.90 at 1,0 (30x30), got none like it among 1")
    }

    /// A box is the nearest partner of one box and the only candidate of another: the pairs must be exchanged.
    @Test("boxes agree if some pairing matches all of them, even if the nearest pairs do not")
    func pairsAreExchangedWhereThatMakesMore() {
        let left = [box("a", 0, 0, 30, 30), box("a", 9, 0, 30, 30)]
        // The first box on the right fits both on the left, the second one only the first.
        let right = [box("a", 3, 0, 30, 30), box("a", -9, 0, 30, 30)]
        #expect(agree(.boxes(left, side: 99), .boxes(right, side: 99)))
    }

    /// Compared with all permutations, for small numbers of boxes.
    @Test("box matching succeeds exactly if a search of all pairings does")
    func theMostPairsAreFound() {
        var random = SplitMix(seed: 7)
        func boxes() -> [Answer.FoundBox] {
            (0..<Int.random(in: 0...5, using: &random)).map { _ in
                box(
                    ["a", "b"][Int.random(in: 0...1, using: &random)], Double(Int.random(in: 0...20, using: &random)),
                    Double(Int.random(in: 0...6, using: &random)), 20, 20)
            }
        }
        func overlap(_ a: Answer.FoundBox, _ b: Answer.FoundBox) -> Bool {
            let w = max(0, 20 - abs(a.x - b.x)), h = max(0, 20 - abs(a.y - b.y))
            return a.label == b.label && 2 * w * h >= 800 - w * h
        }
        func matches(_ a: [Answer.FoundBox], _ b: [Answer.FoundBox]) -> Bool {
            guard let first = a.first else { return b.isEmpty }
            return b.indices.contains { index in
                guard overlap(first, b[index]) else { return false }
                var rest = b
                rest.remove(at: index)
                return matches(Array(a.dropFirst()), rest)
            }
        }
        var agreeing = 0
        for _ in 0..<20_000 {
            let (a, b) = (boxes(), boxes())
            let expected = matches(a, b)
            agreeing += expected ? 1 : 0
            #expect(agree(.boxes(a, side: 99), .boxes(b, side: 99)) == expected, "\(a) \(b)")
        }
        #expect(agreeing > 500)
    }

    /// Thousands of equal boxes, as a broken model outputs them, need neither deep recursion nor minutes.
    @Test("two answers of 1,000 equal boxes agree, and 1,000 and 999 boxes do not")
    func manyEqualBoxesEnd() {
        let many = Array(repeating: box("a", 0, 0, 30, 30), count: 1_000)
        #expect(agree(.boxes(many, side: 99), .boxes(many, side: 99)))
        #expect(!agree(.boxes(many, side: 99), .boxes(Array(many.dropLast()), side: 99)))
    }

    /// A square of side 10 about (20, 20), turned by an angle, with the upright box around it.
    private func turned(_ degrees: Double) -> Answer.FoundBox {
        let corners = [45.0, 135, 225, 315].map { place in
            let angle = (place + degrees) * .pi / 180
            return Answer.NamedPoint.Place(
                x: 20 + 50.0.squareRoot() * cos(angle), y: 20 + 50.0.squareRoot() * sin(angle))
        }
        let x = corners.map(\.x), y = corners.map(\.y)
        let (left, top) = (x.min() ?? 0, y.min() ?? 0)
        var box = box("a", left, top, (x.max() ?? 0) - left, (y.max() ?? 0) - top)
        box.corners = corners
        return box
    }

    private func overlap(_ a: Answer.FoundBox, _ b: Answer.FoundBox) -> Double {
        let (one, other) = (ConvexShape(a), ConvexShape(b)), common = one.common(with: other)
        return common / (one.area + other.area - common)
    }

    /// Two equal squares, one turned by 45 degrees, share a regular octagon: 1 / sqrt(2) of both together.
    @Test("turned boxes agree by the area that they themselves share, not by the boxes around them")
    func turnedBoxesShareTheirOwnArea() {
        #expect(abs(overlap(turned(0), turned(45)) - 0.5.squareRoot()) < 1e-9)
        #expect(abs(overlap(turned(10), turned(100)) - 1) < 1e-9)
        #expect(overlap(turned(0), box("a", 100, 0, 10, 10)) == 0)
        // An upright box is compared as it is.
        #expect(abs(overlap(turned(0), box("a", 15, 15, 10, 5)) - 0.5) < 1e-9)
        // Two long plates that cross: the boxes around them are equal.
        func plate(_ corners: [(Double, Double)]) -> Answer.FoundBox {
            var box = box("plate", 0, 0, 100, 100)
            box.corners = corners.map { Answer.NamedPoint.Place(x: $0, y: $1) }
            return box
        }
        let down = plate([(5, 0), (100, 95), (95, 100), (0, 5)]), up = plate([(0, 95), (95, 0), (100, 5), (5, 100)])
        #expect(agree(.boxes([down], side: 100), .boxes([down], side: 100)))
        #expect(!agree(.boxes([down], side: 100), .boxes([up], side: 100)))
        // Counterclockwise corners are the same box.
        var reversed = down
        reversed.corners = down.corners?.reversed()
        #expect(agree(.boxes([down], side: 100), .boxes([reversed], side: 100)))
    }

    @Test("boxes agree only if their masks and their points agree as well")
    func masksAndPointsOfBoxesCountToo() {
        var masked = box("a", 0, 0, 10, 10)
        masked.mask = RunMask(width: 10, height: 10, counts: [0, 100])
        var less = masked
        less.mask = RunMask(width: 10, height: 10, counts: [11, 89])
        var enough = masked
        enough.mask = RunMask(width: 10, height: 10, counts: [10, 90])
        #expect(agree(.boxes([masked], side: 10), .boxes([enough], side: 10)))
        #expect(!agree(.boxes([masked], side: 10), .boxes([less], side: 10)))
        #expect(!agree(.boxes([masked], side: 10), .boxes([box("a", 0, 0, 10, 10)], side: 10)))
        var pointed = box("a", 0, 0, 10, 10), moved = pointed
        pointed.points = [.init(x: 1, y: 1)]
        moved.points = [.init(x: 4, y: 1)]
        #expect(agree(.boxes([pointed], side: 200), .boxes([moved], side: 200)), "3 of 200 pixels")
        #expect(!agree(.boxes([pointed], side: 100), .boxes([moved], side: 100)), "3 of 100 pixels")
    }

    // MARK: Masks, points, vectors

    @Test("every segment class needs an overlap of 0.9, except a class below 1 % of the picture")
    func eachClassOfAMaskNeedsAnOverlapOfNineTenths() {
        func mask(_ first: UInt32) -> RunMask { RunMask(width: 100, height: 100, counts: [0, first, 10_000 - first]) }
        let road = Answer.segments([.init(label: "road", mask: mask(1_000))])
        #expect(agree(road, .segments([.init(label: "road", mask: mask(900))])))
        let other = Agreement(expected: road, found: .segments([.init(label: "road", mask: mask(899))]))
        #expect(!other.agrees && other.reason == "the mask of road overlaps by 0.90, expected 0.9 or more")
        #expect(!agree(road, .segments([.init(label: "water", mask: mask(1_000))])))
        #expect(!agree(road, .segments([])))
        // A class with less than 1 % of the picture in both answers consists mostly of its edge.
        #expect(agree(.segments([.init(label: "sign", mask: mask(99))]), .segments([])))
        #expect(!agree(.segments([.init(label: "sign", mask: mask(100))]), .segments([])))
    }

    @Test("keypoints agree within 2 % of the picture's longer side")
    func pointsLieWithinTwoHundredths() {
        func points(_ x: Double) -> Answer { .points([.init(x: 0, y: 0), .init(x: x, y: 4), .init()], side: 250) }
        #expect(agree(points(3), points(3)))
        #expect(agree(points(3), points(8)), "5 of 250 pixels are exactly 0.02")
        #expect(Agreement(expected: points(3), found: points(8.1)).reason == "point 2: expected 3,4, got 8,4")
        let lost = Answer.points([.init(x: 0, y: 0), .init(), .init()], side: 250)
        #expect(Agreement(expected: points(3), found: lost).reason == "point 2 was not found")
        #expect(Agreement(expected: lost, found: points(3)).reason == "point 2 was found, expected none")
        #expect(!agree(points(3), .points([], side: 250)))
        #expect(!agree(points(3), points(.nan)))
    }

    /// The cosine of (1, 0) and (cos a, sin a) is 0.99 at a = 0.14154 (numpy).
    @Test("embeddings agree from a cosine similarity of 0.99 on, for any norms")
    func embeddingsNeedACosine() {
        let unit = Answer.embedding([1, 0])
        #expect(agree(unit, .embedding([0.99003, 0.14086])))
        #expect(!agree(unit, .embedding([0.98997, 0.14128])))
        #expect(agree(unit, .embedding([1_000, 0])), "length does not count")
        #expect(!agree(unit, .embedding([-1, 0])))
        #expect(!agree(unit, .embedding([1, 0, 0])))
        #expect(!agree(unit, .embedding([0, 0])) && agree(.embedding([0, 0]), .embedding([0, 0])))
        #expect(!agree(unit, .embedding([.nan, 0])) && !agree(.embedding([.infinity, 0]), unit))
    }

    @Test("predicted numbers agree within 1 %, texts if equal, and label scores by the top label")
    func valuesOfPredictions() {
        func values(_ value: Answer.OutputValue) -> Answer { .values(["y": value]) }
        #expect(agree(values(.number(100)), values(.number(101))))
        #expect(!agree(values(.number(100)), values(.number(101.1))))
        #expect(agree(values(.number(0)), values(.number(1e-7))))
        #expect(
            agree(values(.number(.nan)), values(.number(.nan))) && !agree(values(.number(.nan)), values(.number(1))))
        #expect(agree(values(.text("a")), values(.text("a"))) && !agree(values(.text("a")), values(.text("b"))))
        #expect(agree(values(.labels(["a": 0.6, "b": 0.4])), values(.labels(["a": 0.51, "b": 0.49]))))
        #expect(!agree(values(.labels(["a": 0.6, "b": 0.4])), values(.labels(["a": 0.4, "b": 0.6]))))
        #expect(agree(values(.array(shape: [2], [1, 0])), values(.array(shape: [2], [1, 0.1]))))
        #expect(!agree(values(.array(shape: [2], [1, 0])), values(.array(shape: [1, 2], [1, 0]))))
        #expect(!agree(values(.array(shape: [1], [1])), values(.array(shape: [1], [2]))), "one number is a number")
        #expect(!agree(values(.number(1)), .values([:])) && !agree(.values([:]), values(.number(1))))
        let reason = Agreement(expected: values(.number(1)), found: values(.text("1"))).reason
        #expect(reason == "output \"y\": is of another kind")
    }

    // MARK: Run lengths

    /// Texts in pycocotools' format for masks of 5 rows and 7 columns, written by a separate program (numpy, column by
    /// column).
    @Test("COCO's compressed run-length text is decoded into run counts")
    func runLengthsAreReadAsCOCOWritesThem() throws {
        let mask = try #require(RunMask(width: 7, height: 5, compressed: "63234ONN"))
        #expect(mask.counts == [6, 3, 2, 6, 6, 5, 4, 3])
        let large = try #require(RunMask(width: 11, height: 100, compressed: "`<323fb0O\\]O[2"))
        #expect(large.counts == [400, 3, 2, 6, 600, 5, 4, 80])
    }

    @Test(
        "damaged run-length text is refused",
        arguments: ["", "0", "S", "zzzzzzzz", "oooooooo", "\u{7f}", "1", "Z1Z1"])
    func damagedRunLengthsAreRefused(_ text: String) { #expect(RunMask(width: 7, height: 5, compressed: text) == nil) }

    @Test("run-length masks of zero, negative or overflowing size are refused")
    func sizesThatNoPictureHasAreRefused() {
        #expect(RunMask(width: 0, height: 5, compressed: "0") == nil)
        #expect(RunMask(width: .max, height: .max, compressed: "0") == nil)
        #expect(RunMask(width: -3, height: 5, compressed: "0") == nil)
    }

    /// Compared with counting pixels.
    @Test("area and overlap of run-length masks equal a count pixel by pixel")
    func overlapsAreThoseOfPixels() {
        var random = SplitMix(seed: 11)
        func mask() -> (RunMask, [Bool]) {
            var pixels: [Bool] = [], counts: [UInt32] = []
            while pixels.count < 60 {
                let run = min(Int.random(in: 0...13, using: &random), 60 - pixels.count)
                pixels += Array(repeating: counts.count % 2 == 1, count: run)
                counts.append(UInt32(run))
            }
            return (RunMask(width: 6, height: 10, counts: counts), pixels)
        }
        for _ in 0..<5_000 {
            let (a, b) = (mask(), mask())
            let both = zip(a.1, b.1).count { $0 && $1 }, either = zip(a.1, b.1).count { $0 || $1 }
            #expect(a.0.area == a.1.count { $0 })
            #expect(a.0.overlap(with: b.0) == (either == 0 ? 1 : Double(both) / Double(either)))
        }
    }
}
