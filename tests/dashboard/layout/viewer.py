"""A page in the place of the Firefox Profiler."""

VIEWER = "https://viewer.test"


# Answers the second request only, as a viewer that is still loading does, and keeps what it is given.
STAND_IN = """<!doctype html><title>viewer</title><p id=got></p><script>
let asked = 0;
addEventListener("message", async (event) => {
  if (event.data.name === "ready:request" && ++asked >= 2) event.source.postMessage({name: "ready:response"}, "*");
  if (event.data.name === "inject-profile") {
    const unpacked = new Blob([event.data.profile]).stream().pipeThrough(new DecompressionStream("gzip"));
    const profile = await new Response(unpacked).json();
    document.getElementById("got").textContent = JSON.stringify(profile.shared.stringArray);
  }
});
</script>"""
