import Dialects
import FileFormats
import Testing

/// Label configs, their labels, and the names of examples that annotations taught.
struct LabelConfigTests {
    private static func controls(_ tags: String) throws -> [LabelConfig.Control] {
        try LabelConfig("<View><Image name=\"picture\" value=\"$photo\"/>\(tags)</View>").controls
    }

    private static func reason(_ text: String) -> String {
        do throws(FormatError) {
            return "\(try LabelConfig(text).controls.count) control tags"
        } catch {
            return error.reason
        }
    }

    // MARK: Configs

    @Test("control tags of five kinds are found with their pictures, models and labels")
    func controlTagsAreFound() throws {
        let controls = try Self.controls(
            """
            <!-- <Choices name="no" toName="picture"/> -->
            <Choices name="kind" toName="picture" choice="multiple" model_path="parts">
              <View><Choice value="Bolt" predicted_values="bolt, screw"/><Choice value="Nut &amp; more" alias="nut"/></View>
            </Choices>
            <RectangleLabels name="boxes" toName="picture"><Label value="red"/></RectangleLabels>
            <KeyPointLabels name="points" toName="picture" model_path=""><Label value="eye"/></KeyPointLabels>
            <BrushLabels name="masks" toName="other,picture"><Label value="sky"/></BrushLabels>
            <TextArea name="text" toName="picture"/>
            <Rating name="stars" toName="picture"/>
            """)
        #expect(controls.map(\.kind) == [.choices, .rectangles, .keyPoints, .brushes, .texts])
        #expect(controls.map(\.name) == ["kind", "boxes", "points", "masks", "text"])
        #expect(controls.allSatisfy { $0.image == "picture" && $0.member == "photo" && $0.frame == nil })
        #expect(controls.map(\.model) == ["parts", nil, nil, nil, nil])
        #expect(controls.map(\.isMultiple) == [true, false, false, false, false])
        #expect(controls[0].labels.map(\.name) == ["Bolt", "nut"])
        #expect(controls[0].labels.map(\.predicted) == [["bolt", "screw"], []])
        #expect(controls.dropFirst().map { $0.labels.map(\.name) } == [["red"], ["eye"], ["sky"], []])
    }

    @Test("a text area for regions has the rectangle of its picture, wherever that is in the config")
    func textAreasHaveFrames() throws {
        let area = "<TextArea name=\"text\" toName=\"picture\" perRegion=\"true\"/>"
        let frame = "<Rectangle name=\"bbox\" toName=\"picture\"/>"
        #expect(try Self.controls(area + frame).map(\.frame) == ["bbox"])
        #expect(try Self.controls(frame + area).map(\.frame) == ["bbox"])
        #expect(try Self.controls(area).map(\.frame) == [nil])
        #expect(try Self.controls(frame + "<TextArea name=\"a\" toName=\"picture\"/>").map(\.frame) == [nil])
    }

    @Test(
        "tags without a picture of the task are left out",
        arguments: [
            "<Choices name=\"a\" toName=\"text\"/>", "<Choices toName=\"picture\"/>", "<Choices name=\"a\"/>",
            "<Text name=\"text\" value=\"$text\"/><Choices name=\"a\" toName=\"text\"/>",
            "<Image name=\"fixed\" value=\"https://example.com/a.png\"/><Choices name=\"a\" toName=\"fixed\"/>",
        ])
    func otherTagsAreLeftOut(_ tags: String) throws {
        #expect(try Self.controls(tags).isEmpty)
    }

    @Test("a document type, damage and exaggeration are refused with the reason")
    func hostileConfigsAreRefused() {
        let bomb = "<!DOCTYPE View [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><View>&b;</View>"
        #expect(Self.reason(bomb).contains("document type"))
        #expect(Self.reason("<!DOCTYPE View SYSTEM \"file:///etc/passwd\"><View/>").contains("document type"))
        #expect(Self.reason("<View><Choices></View>").contains("closes \"View\""))
        #expect(Self.reason("<View>").contains("does not close \"View\""))
        #expect(Self.reason("</View>").contains("closes"))
        #expect(Self.reason("<View name=>").contains("without quotes"))
        #expect(Self.reason(String(repeating: "<View>", count: 101)).contains("nested too deeply"))
        #expect(Self.reason(String(repeating: "<a/>", count: 50_001)).contains("more than 50000 tags"))
        #expect(Self.reason(String(repeating: " ", count: 1 << 20 + 1)).contains("the limit is 1048576"))
        let image = "<Image name=\"i\" value=\"$i\"/>"
        let many = String(repeating: "<Choices name=\"c\" toName=\"i\"/>", count: 21)
        #expect(Self.reason("<View>\(image)\(many)</View>").contains("the limit is 20"))
        #expect(Self.reason("") == "0 control tags" && Self.reason("<View></View>") == "0 control tags")
    }

    // MARK: Labels

    @Test("labels are found by predicted values, then equal, then without regard to case")
    func labelsAreFoundInThisOrder() throws {
        let control = try #require(
            try Self.controls(
                """
                <Choices name="a" toName="picture"><Choice value="cat"/><Choice value="Dog" predicted_values="cat,wolf"/>
                <Choice value="BIRD"/><Choice value="bird"/></Choices>
                """
            ).first)
        let names = LabelNames(control.labels)
        #expect(
            ["cat", "wolf", "Wolf", "CAT", "dog", "Dog"].map(names.name) == ["Dog", "Dog", nil, "cat", "Dog", "Dog"])
        #expect(["bird", "BIRD", "Bird", "fish"].map(names.name) == ["bird", "BIRD", "BIRD", nil])
        // The class to teach is one that the model has, else the first predicted value, else the label.
        func taught(_ name: String, _ classes: [String]) -> String {
            LabelNames.taughtClass(name, of: control, classes: classes)
        }
        #expect(taught("Dog", ["fish", "wolf"]) == "wolf" && taught("Dog", []) == "cat")
        #expect(taught("BIRD", ["Bird"]) == "Bird" && taught("fish", []) == "fish")
    }

    // MARK: Annotations

    @Test("the name of an example has the ids of its annotations, the newest where it would be too long")
    func namesHaveIDs() throws {
        let name = AnnotationName(7)
        #expect(name.text == "labelstudio:7" && AnnotationName(name.text) == name)
        let both = name.adding(8).adding(7)
        #expect(both.text == "labelstudio:7,8" && AnnotationName(both.text) == both)
        #expect(both.removing([7])?.text == "labelstudio:8" && both.removing([9]) == both)
        #expect(both.removing([8, 7]) == nil)
        for other in ["", "labelstudio:", "labelstudio:x", "labelstudio:1,", "cat.jpg", "labelstudio:1,x"] {
            #expect(AnnotationName(other) == nil, "\(other)")
        }
        let long = (1...500).reduce(AnnotationName(0)) { $0.adding(1_000_000 + $1) }
        #expect(long.text.utf8.count <= 256 && long.ids.last == 1_000_500 && long.ids.count > 20)
    }
}
