// Tells the script of a page whether it is projected: charts have larger letters then.

/** @param {{data: [boolean], setStateValue: (name: string, value: boolean) => void}} component data: what the script knows */
export function projected({ data: [known], setStateValue }) {
  const tell = () => {
    const large = document.documentElement.classList.contains("projector");
    if (large !== known) setStateValue("large", large);
  };
  tell();
  addEventListener("headlight-projector", tell);
  return () => removeEventListener("headlight-projector", tell);
}
